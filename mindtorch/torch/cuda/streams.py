"""Streams and events, under the name that packages import them by."""

from . import Event as Event
from . import ExternalStream as ExternalStream
from . import Stream as Stream
