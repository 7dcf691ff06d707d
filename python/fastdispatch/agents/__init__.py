"""Language-model agents: a guide for them, and a server of the Model Context Protocol (docs/guides/agents.md)."""
