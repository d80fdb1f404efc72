"""The read-only operations of evenpace for agents, by the Model Context Protocol; nothing here can write."""
