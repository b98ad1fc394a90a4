"""A stay: one boat at one berth from its day of arrival to its day of departure."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class Stay:
    booking_id: str
    berth: str
    boat: str
    arrive: date
    depart: date

    @property
    def nights(self) -> int:
        return (self.depart - self.arrive).days


def overlaps(one: Stay, other: Stay) -> bool:
    """True if both stays need the same berth at the same time."""
    return one.berth == other.berth and one.arrive <= other.depart and other.arrive <= one.depart
