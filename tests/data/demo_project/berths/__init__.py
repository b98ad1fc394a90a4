"""Berth bookings of a small marina."""
