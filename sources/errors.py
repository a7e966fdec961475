"""Errors whose message is for the user."""

from __future__ import annotations


class UsageError(Exception):
    """The user asked for something that cannot be done; the message says what and what can."""
