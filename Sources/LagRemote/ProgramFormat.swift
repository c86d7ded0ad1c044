internal import LagModel

/// The format of the program that a process runs, by the beginning of its file (elf(5)).
enum ProgramFormat {
    private static let classOffset = 4
    private static let class32Bit: UInt8 = 1

    /// Whether a program uses other system call numbers and argument layouts than this machine's own programs. False if its file
    /// cannot be read. Reads a small file; any thread.
    static func is32Bit(_ process: Int32) -> Bool { is32Bit(file: "/proc/\(process)/exe") }

    static func is32Bit(file path: String) -> Bool {
        guard let start = ProcFile.bytes(at: path, limit: classOffset + 1), start.count > classOffset,
            start.starts(with: [0x7f, UInt8(ascii: "E"), UInt8(ascii: "L"), UInt8(ascii: "F")])
        else { return false }
        return start[classOffset] == class32Bit
    }
}
