internal import Testing

@testable internal import LagRemote

struct PythonLineTableTests {
    /// `co_linetable`, as created by CPython 3.11.2, of a function of eleven lines that begins at line 1.
    private static let bytes: [UInt8] = [
        0x80, 0x00, 0xd8, 0x08, 0x09, 0x80, 0x41, 0xe0, 0x08, 0x1d, 0xd0, 0x08, 0x1d, 0x95, 0x45, 0x98, 0x21, 0x91, 0x48, 0x94,
        0x48, 0xd0, 0x08, 0x1d, 0xd1, 0x08, 0x1d, 0xd4, 0x08, 0x1d, 0x80, 0x41, 0xf0, 0x02, 0x05, 0x05, 0x0d, 0xdd, 0x0f, 0x10,
        0xd8, 0x0c, 0x0d, 0xd8, 0x0c, 0x0d, 0xf1, 0x05, 0x02, 0x10, 0x0f,
    ]
    private let table = PythonLineTable(bytes: Self.bytes, firstLine: 1)

    @Test(arguments: [(0, 1), (1, 2), (2, 2), (3, 4), (27, 4), (28, 5), (29, 6), (34, 6), (35, 7), (36, 8), (37, 6)])
    func `each instruction has the same line as in Python`(index: Int, line: Int) {
        #expect(table.line(ofInstruction: index) == line)
    }

    @Test func `before the first instruction, the line is the first line of the function`() {
        #expect(table.line(ofInstruction: -1) == 1)
        #expect(PythonLineTable(bytes: [], firstLine: 0).line(ofInstruction: -1) == nil)
    }

    @Test func `an instruction beyond the table has no line`() { #expect(table.line(ofInstruction: 10_000) == nil) }

    @Test func `a corrupt table gives no line`() {
        #expect(PythonLineTable(bytes: [0x7f], firstLine: 1).line(ofInstruction: 0) == nil)
        // An unterminated number.
        #expect(PythonLineTable(bytes: [0xe8] + [UInt8](repeating: 0x7f, count: 64), firstLine: 1).line(ofInstruction: 0) == nil)
        #expect(PythonLineTable(bytes: [0xe8, 0x40], firstLine: 1).line(ofInstruction: 0) == nil)
        // An instruction that is marked as having no line.
        #expect(PythonLineTable(bytes: [0xf8], firstLine: 1).line(ofInstruction: 0) == nil)
    }
}
