"""MindInsight's package, as far as it is here: `mindinsight.debugger`, its offline API."""

from . import debugger as debugger
