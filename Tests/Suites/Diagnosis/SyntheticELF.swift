import Foundation

/// Builds a small ELF file with the symbols of a test, and the places to damage it.
struct SyntheticELF {
    struct Symbol {
        var name: String
        var value: UInt64
        var size: UInt64
        var type: UInt8 = 2
        var binding: UInt8 = 1
        var section: UInt16 = 1
        /// 2 is `STV_HIDDEN`.
        var visibility: UInt8 = 0
    }

    static let textAddress: UInt64 = 0x1000
    static let textSize: UInt64 = 0x1000
    static let buildID = "0123456789abcdef0123456789abcdef01234567"

    var symbols: [Symbol]
    /// `.symtab` is 2, `.dynsym` 11.
    var tableType: UInt32 = 2
    /// Flags of the section that contains the symbols; 4 is `SHF_EXECINSTR`.
    var textFlags: UInt64 = 0
    /// 62 is x86-64, 183 aarch64.
    var machine: UInt16 = 62
    /// The entry point of the program; 0: it is a library.
    var entry: UInt64 = 0
    /// From ``textAddress`` on; empty: the file has no code.
    var text: [UInt8] = []
    /// A section `.eh_frame` at ``unwindAddress``; empty: none.
    var unwind: [UInt8] = []
    static let unwindAddress: UInt64 = 0x8000
    /// Sections that show the linker, at the end of the table.
    var linker: [(name: String, content: [UInt8])] = []
    /// How many more sections with code there are, all empty.
    var emptyCodeSections = 0

    func bytes() -> [UInt8] {
        var strings: [UInt8] = [0]
        var table = [UInt8](repeating: 0, count: 24)
        for symbol in symbols {
            table += little(UInt32(strings.count)) + [symbol.binding << 4 | symbol.type, symbol.visibility]
            table += little(symbol.section) + little(symbol.value) + little(symbol.size)
            strings += Array(symbol.name.utf8) + [0]
        }
        var note = little(UInt32(4)) + little(UInt32(20)) + little(UInt32(3)) + Array("GNU\0".utf8)
        for index in 0..<20 {
            let start = Self.buildID.index(Self.buildID.startIndex, offsetBy: index * 2)
            note.append(UInt8(Self.buildID[start..<Self.buildID.index(start, offsetBy: 2)], radix: 16) ?? 0)
        }

        let tableOffset = 64
        let stringsOffset = tableOffset + table.count
        let noteOffset = (stringsOffset + strings.count + 3) / 4 * 4
        let sectionNames = Array("\0.eh_frame\0\(linker.map { $0.name + "\0" }.joined())".utf8)
        let linkerContent = linker.flatMap(\.content)
        let unwindOffset = (noteOffset + note.count + 7) / 8 * 8
        let namesOffset = unwindOffset + unwind.count
        let textOffset = namesOffset + sectionNames.count
        let linkerOffset = textOffset + text.count
        let sectionsOffset = (linkerOffset + linkerContent.count + 7) / 8 * 8
        var file: [UInt8] = [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
        file += little(UInt16(3)) + little(machine) + little(UInt32(1)) + little(entry) + little(UInt64(0))
        file += little(UInt64(sectionsOffset)) + little(UInt32(0)) + little(UInt16(64)) + little(UInt16(56)) + little(UInt16(0))
        file += little(UInt16(64)) + little(UInt16(7 + emptyCodeSections + linker.count)) + little(UInt16(6))
        file += table + strings
        file += [UInt8](repeating: 0, count: noteOffset - file.count) + note
        file +=
            [UInt8](repeating: 0, count: unwindOffset - file.count) + unwind + sectionNames + text
            + linkerContent
        file += [UInt8](repeating: 0, count: sectionsOffset - file.count)
        file += section(type: 0, address: 0, offset: 0, size: 0, link: 0, entry: 0)
        file += section(
            type: 1,
            address: Self.textAddress,
            offset: text.isEmpty ? 0 : UInt64(textOffset),
            size: Self.textSize,
            link: 0,
            entry: 0,
            flags: textFlags
        )
        file += section(type: tableType, address: 0, offset: UInt64(tableOffset), size: UInt64(table.count), link: 3, entry: 24)
        file += section(type: 3, address: 0, offset: UInt64(stringsOffset), size: UInt64(strings.count), link: 0, entry: 0)
        file += section(type: 7, address: 0, offset: UInt64(noteOffset), size: UInt64(note.count), link: 0, entry: 0)
        file += section(
            type: 1,
            address: Self.unwindAddress,
            offset: UInt64(unwindOffset),
            size: UInt64(unwind.count),
            link: 0,
            entry: 0,
            name: unwind.isEmpty ? 0 : 1
        )
        file += section(type: 3, address: 0, offset: UInt64(namesOffset), size: UInt64(sectionNames.count), link: 0, entry: 0)
        for _ in 0..<emptyCodeSections {
            file += section(type: 1, address: 0, offset: 0, size: 0, link: 0, entry: 0, flags: 4)
        }
        var (offset, name) = (linkerOffset, 11)
        for section in linker {
            file += self.section(
                type: 1,
                address: 0,
                offset: UInt64(offset),
                size: UInt64(section.content.count),
                link: 0,
                entry: 0,
                name: UInt32(name)
            )
            offset += section.content.count
            name += section.name.utf8.count + 1
        }
        return file
    }

    /// Entries of `.eh_frame`, each for 16 bytes of code, with its instruction bytes, including padding.
    /// - Parameter alignment: the linker pads them to this; 4: it leaves them as they are.
    static func unwind(
        _ functions: [(address: UInt64, instructions: [UInt8])],
        entriesOf alignment: Int = 4
    ) -> [UInt8] {
        func little(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }
        var bytes = little(20) + little(0) + Array("\u{1}zR\0\u{1}x\u{10}\u{1}\u{1b}\u{c}\u{7}\u{8}".utf8) + [0x90, 1, 0, 0]
        for (address, instructions) in functions {
            let place = unwindAddress + UInt64(bytes.count) + 8
            let rest = alignment - 1 - (17 + instructions.count + alignment - 1) % alignment
            let instructions = instructions + [UInt8](repeating: 0, count: rest)
            bytes += little(UInt32(13 + instructions.count)) + little(UInt32(bytes.count + 4))
            bytes += little(UInt32(truncatingIfNeeded: Int64(address) - Int64(place))) + little(16) + [0] + instructions
        }
        return bytes + little(0)
    }

    private func section(
        type: UInt32,
        address: UInt64,
        offset: UInt64,
        size: UInt64,
        link: UInt32,
        entry: UInt64,
        flags: UInt64 = 0,
        name: UInt32 = 0
    )
        -> [UInt8]
    {
        little(name) + little(type) + little(flags) + little(address) + little(offset) + little(size)
            + little(link) + little(UInt32(0)) + little(UInt64(1)) + little(entry)
    }

    private func little(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}

/// Runs a tool of binutils, which the Swift toolchain needs anyway; its output.
@discardableResult
func run(_ tool: String, _ arguments: String...) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [tool] + arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
    return String(decoding: data, as: UTF8.self)
}
