internal import LagModel

/// A code object of CPython, read from the process as it is now.
struct PythonCode {
    let address: UInt64
    private let layout: PythonLayout
    private let header: [UInt8]

    /// The maximum of instructions of a function; a larger number is damaged data.
    private static let maximumInstructions: UInt64 = 1 << 24
    private static let mostInstructionsRead: UInt64 = 1 << 12

    /// Nil if it is not a code object: its type is not the runtime's own.
    /// - Parameter type: the address of `PyCode_Type`.
    init?(_ memory: RemoteMemory, _ layout: PythonLayout, type: UInt64, at address: UInt64) {
        guard address != 0, address % 8 == 0, layout.instructions <= PythonLayout.maximumCodeBytes,
            let header = memory.bytes(address, Int(layout.instructions)),
            header.number(at: Int(PythonLayout.type), as: UInt64.self) == type
        else { return nil }
        self.address = address
        self.layout = layout
        self.header = header
        guard instructionCount <= Self.maximumInstructions else { return nil }
    }

    private func word(_ offset: UInt64) -> UInt64 { header.number(at: Int(clamping: offset)) ?? 0 }

    private var instructionCount: UInt64 { word(PythonLayout.size) }
    var fileName: UInt64 { word(layout.fileName) }
    var qualifiedName: UInt64 { word(layout.qualifiedName) }
    /// The names that it uses, except its variables.
    var names: UInt64 { word(PythonLayout.names) }
    var lineTable: UInt64 { word(layout.lineTable) }
    var firstLine: Int { Int(header.number(at: Int(clamping: layout.firstLine), as: Int32.self) ?? 0) }

    /// A hash that differs for another code object at this address.
    var check: UInt64 {
        var hash = StableHash()
        for word in [fileName, qualifiedName, lineTable, UInt64(bitPattern: Int64(firstLine)), instructionCount] {
            hash.combine(word: word)
        }
        return hash.value
    }

    /// The index of the instruction at an address; -1 for the place before the first; nil: not in this code.
    func index(of instruction: UInt64) -> Int? {
        let first = address &+ layout.instructions
        if instruction == first &- PythonLayout.instructionBytes { return -1 }
        guard instruction >= first, (instruction - first) % PythonLayout.instructionBytes == 0 else { return nil }
        let index = (instruction - first) / PythonLayout.instructionBytes
        return index < instructionCount ? Int(index) : nil
    }

    /// All instructions; none for a longer function than programs have in their loops; nil: they cannot be read now.
    func instructions(_ memory: RemoteMemory) -> [UInt8]? {
        guard instructionCount <= Self.mostInstructionsRead else { return [] }
        return memory.bytes(address &+ layout.instructions, Int(instructionCount * PythonLayout.instructionBytes))
    }

    /// Whether a frame at that instruction is not ready yet: Python itself does not show it.
    func isIncomplete(at index: Int, owner: UInt8) -> Bool {
        guard owner != PythonLayout.ownedByGenerator else { return false }
        let first = Int(header.number(at: Int(clamping: layout.firstTraceable), as: Int32.self) ?? 0)
        // An address outside the instructions has no index. (The one after them has: for code that Python never shows, such as
        // 3.13's around a constructor, `_Py_InitCleanup`.)
        guard first > 0, UInt64(first) <= instructionCount + 1 else { return index < 0 }
        return index < first
    }
}
