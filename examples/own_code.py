"""A code of your own: one row says what an agent may assume, wherever the code is used."""

import failwell as fw

fw.codes.add(
    "SEAT_TAKEN",
    type="CONFLICT",
    title="The seat is taken",
    suggestion="Call list_seats and choose a free one.",
    action="use",
    aliases=("SEAT_OCCUPIED",),
)


class SeatTaken(fw.Conflict):
    code = "SEAT_TAKEN"


def main() -> None:
    failure = SeatTaken("Seat 12A is taken.", details={"seat": "12A"}, actions=["list_seats"]).failure
    print(failure.type, failure.code, fw.decide(failure).suggestion)
    from_elsewhere = fw.read('{"error":"SEAT_OCCUPIED","message":"12A is gone"}')
    assert from_elsewhere is not None
    print(from_elsewhere.type, from_elsewhere.code, fw.decide(from_elsewhere).action)


if __name__ == "__main__":
    main()
