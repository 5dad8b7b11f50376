"""The messages and calls of the control service: sessions, lists and the end of a server."""

from __future__ import annotations

from typing import Any

from mindtorch.protobuf_messages import make_messages

__all__ = ["CALLS", "MESSAGES", "SERVICE", "TOKEN_HEADER"]

SERVICE = "mindtorch.data.CacheControl"
TOKEN_HEADER = "mindtorch-cache-token"

MESSAGES: dict[str, Any] = make_messages(
    "mindtorch_data_cache.proto",
    "mindtorch.data",
    {
        "Empty": "",
        "Session": "1 number uint32",
        "CacheLine": """
            1 session uint32; 2 has_cache bool; 3 cache uint32; 4 in_memory uint64;
            5 on_disk uint64; 6 bytes uint64; 7 full string""",
        "CacheList": "1 caches CacheLine*",
        "ServerInfo": """
            1 hostname string; 2 port uint32; 3 workers uint32; 4 log_level uint32;
            5 spill_folder string; 6 sessions uint32*; 7 version string; 8 process uint32;
            9 memory_limit uint64; 10 memory_used uint64; 11 clients uint32; 12 started double;
            13 protocol uint32""",
    },
)

# call: request, answer
CALLS = {
    "GenerateSession": ("Empty", "Session"),
    "DestroySession": ("Session", "Empty"),
    "ListSessions": ("Empty", "CacheList"),
    "Info": ("Empty", "ServerInfo"),
    "Stop": ("Empty", "Empty"),
}
