"""MindRecord files: rows of texts, numbers, arrays and bytes that data sets read by number."""

from .errors import *
from .reading import FileReader as FileReader
from .writing import FileWriter as FileWriter

SUCCESS, FAILED = "SUCCESS", "FAILED"
