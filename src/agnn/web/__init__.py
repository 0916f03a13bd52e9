"""Trained models behind HTTP: what is asked of a request, the server, and the pages and answers."""
