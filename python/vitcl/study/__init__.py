"""The paper's experiments (arXiv 2010.11929) at a small size: `vitcl study` starts them.

A study is a file of the folder studies: its arms, its runs, its verdict. The frame
(_frame.py) does the rest.
"""
