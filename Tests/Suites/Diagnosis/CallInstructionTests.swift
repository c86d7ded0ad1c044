import LagDiagnosis
import TestSupport
import Testing

/// The instructions before return addresses.
struct CallInstructionTests {
    private typealias Instruction = (bytes: [UInt8], machine: UInt16)
    private static let direct: [Instruction] = [([0xe8, 0xbb, 0xff, 0xff, 0xff], 62), ([0xf0, 0xff, 0xff, 0x97], 183)]
    /// `call *%rax`, `call *0x18(%rbx)`, `blr x3`, `blraa x3, x4`.
    private static let pointers: [Instruction] = [
        ([0xff, 0xd0], 62), ([0xff, 0x53, 0x18], 62), ([0x60, 0, 0x3f, 0xd6], 183), ([0x64, 0x08, 0x3f, 0xd7], 183),
    ]
    /// `call *name@GOTPCREL(%rip)`; a nop of aarch64.
    private static let others: [Instruction] = [([0xff, 0x15, 0, 1, 0, 0], 62), ([0x1f, 0x20, 0x03, 0xd5], 183)]

    private func caller(_ instruction: [UInt8], machine: UInt16) throws -> ResolvedSymbol {
        let scratch = try ScratchDirectory()
        let text = [UInt8](repeating: 0, count: 64) + instruction
        var file = SyntheticELF(
            symbols: [
                SyntheticELF.Symbol(name: "work", value: SyntheticELF.textAddress, size: 32),
                SyntheticELF.Symbol(name: "main", value: SyntheticELF.textAddress + 32, size: 64),
            ],
            textFlags: 4,
            text: text + [UInt8](repeating: 0, count: Int(SyntheticELF.textSize) - text.count)
        )
        file.machine = machine
        let query = SymbolQuery(
            modulePath: try scratch.write(file.bytes(), to: "program"),
            buildID: SyntheticELF.buildID,
            offset: SyntheticELF.textAddress + UInt64(text.count),
            isReturnAddress: true
        )
        var symbolizer = Symbolizer(debugRoot: scratch.path)
        return try #require(symbolizer.resolve([query])[0])
    }

    @Test func `a direct call names its function`() throws {
        for (bytes, machine) in Self.direct {
            let caller = try caller(bytes, machine: machine)
            #expect(caller.simplified == "main" && caller.callees.map(\.simplified) == ["work"] && !caller.callsPointer)
        }
    }

    @Test func `a call of a pointer is known as such, others are not known`() throws {
        for (bytes, machine) in Self.pointers + Self.others {
            let caller = try caller(bytes, machine: machine)
            let isPointer = Self.pointers.contains { $0.bytes == bytes }
            #expect(caller.callsPointer == isPointer && caller.callees.isEmpty, "\(bytes)")
        }
    }
}
