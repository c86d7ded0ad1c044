internal import CLagLinux

/// Which modules of a program came from dependencies: SwiftPM and Xcode check packages out below `checkouts`, and the line tables name
/// every source file.
///
///     /src/shop/.build/checkouts/swift-nio/Sources/NIOCore/Channel.swift    NIOCore
///     /src/shop/.build/checkouts/GRDB.swift/GRDB/Core/Database.swift        GRDB
///
/// The paths are plain text in `.debug_line`, `.debug_line_str` and `.debug_str`, so a search for one word finds them. A stripped program
/// has none; then the list of well-known modules in ``InAppRules`` decides alone.
enum DependencyModules {
    private static let sections: Set<String> = [".debug_line", ".debug_line_str", ".debug_str"]
    private static let mark = Array("/checkouts/".utf8)
    /// What the folder before it is called by SwiftPM (any scratch path that begins so) and by Xcode.
    private static let parents = [".build", "SourcePackages"]
    /// Folders between a package and its modules.
    private static let sourceFolders: Set<String> = ["Sources", "Source", "src", "srcs", "Plugins", "Tests"]
    /// More text is not searched: the largest server that we know has 60 MB.
    private static let maximumBytes: UInt64 = 256 << 20
    private static let pieceBytes = 1 << 20
    /// A path that goes on in the next piece is found there.
    private static let overlapBytes = 1024
    /// No package has so many.
    private static let maximumModules = 4096

    /// - Returns: none where the file cannot be read or has no line tables.
    static func names(inFile path: String) -> Set<String> {
        guard let source = ByteSource(path: path), let file = ELFFile(source) else { return [] }
        var names: Set<String> = []
        var left = maximumBytes
        for section in file.sections(named: sections) where section.size <= left {
            left -= section.size
            var offset: UInt64 = 0
            while offset < section.size, names.count < maximumModules {
                let count = Int(min(UInt64(pieceBytes), section.size - offset))
                guard let piece = file.source.bytes(at: section.offset + offset, count: count) else { break }
                let isLast = offset + UInt64(count) >= section.size
                // What the end of a piece may have cut is whole in the next one.
                let end = isLast ? count : count - overlapBytes / 2
                piece.withUnsafeBytes { collect(from: $0, before: end, into: &names) }
                guard !isLast else { break }
                offset += UInt64(pieceBytes - overlapBytes)
            }
        }
        return names
    }

    private static func collect(from bytes: UnsafeRawBufferPointer, before end: Int, into names: inout Set<String>) {
        guard let start = bytes.baseAddress else { return }
        var position = 0
        while position < bytes.count {
            let distance = cll_find(start + position, bytes.count - position, mark, mark.count)
            guard distance >= 0 else { return }
            let place = position + distance
            position = place + mark.count
            guard position < end else { return }
            if isScratchFolder(bytes[..<place]), let name = module(in: bytes[position...]) { names.insert(name) }
        }
    }

    /// Whether a source file was checked out as a dependency. It recognises C code, whose names have no module.
    static func holdsSource(_ path: String) -> Bool {
        var path = path
        return path.withUTF8 { text in
            let bytes = UnsafeRawBufferPointer(text)
            guard let start = bytes.baseAddress else { return false }
            var position = 0
            while position < bytes.count {
                let distance = cll_find(start + position, bytes.count - position, mark, mark.count)
                guard distance >= 0 else { return false }
                if isScratchFolder(bytes[..<(position + distance)]) { return true }
                position += distance + mark.count
            }
            return false
        }
    }

    /// Whether a path ends in the folder that a build tool checks packages out in.
    private static func isScratchFolder(_ path: Slice<UnsafeRawBufferPointer>) -> Bool {
        let component = path.suffix(64).reversed().prefix { $0 != UInt8(ascii: "/") && $0 != 0 }
        let name = String(decoding: component.reversed(), as: UTF8.self)
        return parents.contains { name.hasPrefix($0) }
    }

    /// The folder of a module: of `swift-nio/Sources/NIOCore/…` the third, of `GRDB.swift/GRDB/…` the second.
    private static func module(in path: Slice<UnsafeRawBufferPointer>) -> String? {
        var components: [String] = []
        var component: [UInt8] = []
        for byte in path.prefix(overlapBytes / 2) {
            // A control character ends a path in a line table.
            guard byte >= 0x20 else { break }
            if byte == UInt8(ascii: "/") {
                components.append(String(decoding: component, as: UTF8.self))
                component = []
                if components.count == 3 { break }
            } else {
                component.append(byte)
            }
        }
        // A directory ends without a slash.
        if components.count < 3, !component.isEmpty, !component.contains(UInt8(ascii: ".")) {
            components.append(String(decoding: component, as: UTF8.self))
        }
        guard components.count >= 2 else { return nil }
        guard sourceFolders.contains(components[1]) else { return components[1] }
        return components.count >= 3 ? components[2] : nil
    }
}
