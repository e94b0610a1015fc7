"""Plugins of each kind, as the functions of their tables: what a worker serves."""

from .averaging import AveragingTable
from .metric import MetricTable
from .model import ModelTable
from .quantizer import QuantizerTable

TABLES = {"averaging": AveragingTable, "metric": MetricTable, "model": ModelTable, "quantizer": QuantizerTable}
