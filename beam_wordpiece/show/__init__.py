"""The automaton for people to see: the steps of its matching loop, and drawings of its trie."""
