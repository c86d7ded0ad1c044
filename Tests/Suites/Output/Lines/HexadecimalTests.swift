import Testing

@testable import LagModel

struct HexadecimalTests {
    @Test(
        arguments: [
            ("0x0", 0), ("0x1f", 0x1f), ("0x1F", 0x1f), ("0x00ff", 0xff), ("0xffffffffffffffff", .max),
            ("0x10000000000000000", nil),
            ("0x", nil), ("", nil), ("1f", nil), ("0X1f", nil), ("0x+1f", nil), ("0x-0", nil), ("0x 1f", nil), ("0x1g", nil),
            ("-0x1", nil),
        ] as [(String, UInt64?)]
    ) func `an address is 0x and digits, without a sign`(text: String, number: UInt64?) {
        #expect(Hexadecimal.address(text) == number)
    }

    @Test(arguments: [0, 1, 0xf, 0x10, 0xdead_beef, .max] as [UInt64]) func `an address is read as it was written`(number: UInt64)
    {
        #expect(Hexadecimal.address(Hexadecimal.address(number)) == number)
        var bytes: [UInt8] = []
        Hexadecimal.append(number, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == Hexadecimal.address(number))
    }
}
