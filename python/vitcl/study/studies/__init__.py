"""All studies, in the order of the list that users see. A new one is a file, a name
here, and a new hash in python/tests/test_study.py."""
from . import (axial, block, cost, data_size, few_shot, head, inductive_bias, masked, optimizer,
               positions, regularisation, resolution, scaling, shape, transfer)

STUDIES = tuple(module.STUDY for module in (
    cost, positions, data_size, scaling, masked, transfer, inductive_bias, few_shot, optimizer,
    shape, head, axial, resolution, block, regularisation))
