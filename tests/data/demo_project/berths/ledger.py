"""The ledger: which boat is where, and when."""

from collections.abc import Iterable

from berths.stays import Stay, overlaps


class BerthTaken(Exception):
    """Another boat has the berth at that time."""


class Ledger:
    def __init__(self, stays: Iterable[Stay] = ()) -> None:
        self._stays: list[Stay] = []
        for stay in stays:
            self.book(stay)

    def book(self, stay: Stay) -> Stay:
        """Add a stay; raises BerthTaken if the berth is not free."""
        for other in self._stays:
            if overlaps(stay, other):
                raise BerthTaken(f"{stay.berth} is taken by {other.boat} ({other.booking_id})")
        self._stays.append(stay)
        return stay

    def cancel(self, booking_id: str) -> Stay:
        """Remove a stay and return it; raises KeyError if there is none with that id."""
        for stay in self._stays:
            if stay.booking_id == booking_id:
                self._stays.remove(stay)
                return stay
        raise KeyError(booking_id)

    def stays(self) -> list[Stay]:
        """All stays in order of arrival."""
        return sorted(self._stays, key=lambda stay: (stay.arrive, stay.berth))
