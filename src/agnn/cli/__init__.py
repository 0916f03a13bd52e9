"""The command line: one module per command, each a thin layer over the library.

`main` runs the program on a list of words and returns its exit code: 0, or 1 for something left
unfinished or a kernel that is wrong, 2 for an error, 130 after Ctrl-C.

>>> from agnn.cli import main
>>> main(["train", "--nodes", "people.csv"])
2
"""

from agnn.cli._app import main as main
