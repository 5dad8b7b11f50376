"""`mindtorch run --debugger`, and MindInsight's offline API over dumps."""
