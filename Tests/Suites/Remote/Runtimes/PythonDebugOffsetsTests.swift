internal import TestSupport
internal import Testing

@testable internal import LagRemote

struct PythonDebugOffsetsTests {
    /// The values of CPython 3.13.0 on x86-64; positions in words.
    private static let version3x13: [Int: UInt64] = [
        1: 0x030d_00f0, 3: 283_320, 4: 608, 5: 632, 6: 194_968, 7: 7272, 8: 7264, 9: 7344, 10: 7400, 14: 16, 15: 7752, 17: 7768,
        18: 7760, 19: 304, 20: 0, 21: 8,
        22: 16, 23: 72,
        24: 152, 25: 160, 26: 232, 28: 80, 29: 8, 30: 0, 31: 56, 32: 72, 33: 70, 34: 208, 35: 112, 36: 120, 37: 128, 38: 136,
        39: 68,
        40: 52, 41: 96, 42: 104, 43: 200, 71: 216, 72: 200,
    ]

    private func words(_ changes: [Int: UInt64] = [:]) -> [UInt8] {
        var bytes = PythonDebugOffsets.cookie + [UInt8](repeating: 0, count: PythonDebugOffsets.bytes - 8)
        for (place, value) in Self.version3x13.merging(changes, uniquingKeysWith: { $1 }) {
            for byte in 0..<8 { bytes[place * 8 + byte] = UInt8(truncatingIfNeeded: value >> UInt64(byte * 8)) }
        }
        return bytes
    }

    @Test func `the debug offsets of a known version match its headers`() throws {
        let layout = try #require(PythonDebugOffsets.layout(words(), minor: 13))
        #expect(layout.firstInterpreter == 632 && layout.nextInterpreter == 7264 && layout.firstThread == 7344)
        #expect(layout.nextThread == 8 && layout.interpreter == 16 && layout.nativeThread == 160 && layout.dataStack == 232)
        #expect(layout.current == .frame(72) && layout.previous == 8 && layout.code == 0 && layout.instruction == 56)
        #expect(layout.owner == 70 && layout.fileName == 112 && layout.qualifiedName == 128 && layout.lineTable == 136)
        #expect(layout.firstLine == 68 && layout.instructions == 200 && layout.firstTraceable == 184)
        #expect(layout.lock == .ofInterpreter(16) && layout.collecting == 7600)
    }

    @Test func `an unknown version has no layout`() { #expect(PythonDebugOffsets.layout(words(), minor: 15) == nil) }

    @Test func `a build without the interpreter lock has no layout`() {
        #expect(PythonDebugOffsets.layout(words([2: 1]), minor: 13) == nil)
    }

    @Test(arguments: [[5: UInt64.max], [31: 100], [30: 72], [43: 8], [43: 1 << 40], [35: 200], [33: 79]] as [[Int: UInt64]])
    func `invalid offsets are rejected`(changes: [Int: UInt64]) {
        #expect(PythonDebugOffsets.layout(words(changes), minor: 13) == nil)
    }

    @Test(arguments: [[14: 0], [15: 7760], [17: 7764], [18: 7768], [15: .max]] as [[Int: UInt64]])
    func `a lock with another structure is not read`(changes: [Int: UInt64]) throws {
        #expect(try #require(PythonDebugOffsets.layout(words(changes), minor: 13)).lock == nil)
    }

    @Test func `empty, truncated or random data is read without harm`() {
        var random = SeededGenerator(seed: 7)
        #expect(PythonDebugOffsets.layout([], minor: 13) == nil)
        #expect(PythonDebugOffsets.layout(Array(words().prefix(300)), minor: 13) == nil)
        for _ in 0..<500 {
            let bytes =
                PythonDebugOffsets.cookie + (8..<PythonDebugOffsets.bytes).map { _ in UInt8.random(in: 0...255, using: &random) }
            _ = PythonDebugOffsets.layout(bytes, minor: 13)
        }
    }
}
