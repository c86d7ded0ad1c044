internal import CLagLinux

/// The origin of a program's modules: SwiftPM and Xcode check packages out below `checkouts`, and the line tables contain the
/// name of every source file.
///
///     /src/shop/.build/checkouts/swift-nio/Sources/NIOCore/Channel.swift    NIOCore, a dependency
///     /src/shop/.build/checkouts/GRDB.swift/GRDB/Core/Database.swift        GRDB, a dependency
///     /src/shop/Sources/Jobs/Worker.swift                                   Jobs, the program's own
///
/// The paths are plain text in `.debug_line`, `.debug_line_str` and `.debug_str`, so a search for a word finds them. A stripped
/// Swift program has none; then only the list of well-known modules in ``InAppRules`` decides.
///
/// Cargo unpacks registries' crates below `registry/src`; Debian's packages install theirs below `/usr/share/cargo/registry`.
/// Rust programs contain the paths of sources that can panic among their constants (`.rodata`), even when they are stripped:
///
///     /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/regex-syntax-0.6.27/src/ast/parser.rs    regex_syntax, a dependency
///     /usr/share/cargo/registry/serde_json-1.0.87/src/de.rs                                               serde_json, a dependency
package struct SourceModules: Sendable, Equatable {
    /// Built from a checked-out package.
    package var dependencies: Set<String>
    /// Built from a folder of `Sources` elsewhere.
    package var own: Set<String>
    /// Dependencies of a Rust program.
    package var crates: Set<String>

    package init(dependencies: Set<String> = [], own: Set<String> = [], crates: Set<String> = []) {
        self.dependencies = dependencies
        self.own = own
        self.crates = crates
    }

    private static let lineSections: Set<String> = [".debug_line", ".debug_line_str", ".debug_str"]
    private static let constantSections: Set<String> = [".rodata"]
    /// The first contains a folder for each registry, the second contains the crates.
    private static let registries = [(Array("/registry/src/".utf8), 1), (Array("/share/cargo/registry/".utf8), 0)]
    private static let checkouts = Array("/checkouts/".utf8)
    private static let sources = Array("/Sources/".utf8)
    /// The name of the folder before it, for SwiftPM (any scratch path that begins like this) and for Xcode.
    private static let parents = [".build", "SourcePackages"]
    /// Folders between a package and its modules.
    private static let sourceFolders: Set<String> = ["Sources", "Source", "src", "srcs", "Plugins", "Tests"]
    /// More text is not searched: the largest known server has 60 MB.
    private static let maximumBytes: UInt64 = 256 << 20
    private static let pieceBytes = 1 << 20
    /// A path that continues in the next piece is found there.
    private static let overlapBytes = 1024
    /// No package has this many.
    private static let maximumModules = 4096

    /// Reads the modules of an executable; none if it cannot be read.
    package init(inFile path: String) {
        self.init()
        // What Cargo installs comes from a registry itself.
        let program = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.index(after: $0)...]) } ?? path
        defer { crates.remove(String(program.map { $0 == "-" ? "_" : $0 })) }
        guard let source = ByteSource(path: path), let file = ELFFile(source) else { return }
        var left = Self.maximumBytes
        // Constants may contain any path; those of crates cannot be anything else.
        let sections =
            file.sections(named: Self.lineSections).map { (section: $0, hasLines: true) }
            + file.sections(named: Self.constantSections).map { (section: $0, hasLines: false) }
        for (section, hasLines) in sections where section.size <= left {
            left -= section.size
            var offset: UInt64 = 0
            while offset < section.size, dependencies.count + own.count + crates.count < Self.maximumModules {
                let count = Int(min(UInt64(Self.pieceBytes), section.size - offset))
                guard let piece = file.source.bytes(at: section.offset + offset, count: count) else { break }
                let isLast = offset + UInt64(count) >= section.size
                // What the end of a piece may have cut is complete in the next one.
                let end = isLast ? count : count - Self.overlapBytes / 2
                piece.withUnsafeBytes { bytes in
                    for (registry, folders) in Self.registries {
                        Self.forEach(registry, in: bytes, before: end) { _, rest in
                            if let name = Self.crate(in: bytes[rest...], below: folders) { crates.insert(name) }
                        }
                    }
                    guard hasLines else { return }
                    Self.forEach(Self.checkouts, in: bytes, before: end) { place, rest in
                        if Self.isScratchFolder(bytes[..<place]), let name = Self.module(in: bytes[rest...]) {
                            dependencies.insert(name)
                        }
                    }
                    Self.forEach(Self.sources, in: bytes, before: end) { place, rest in
                        if !Self.isCheckedOut(bytes[..<place]), let name = Self.folder(in: bytes[rest...]) { own.insert(name) }
                    }
                }
                guard !isLast else { break }
                offset += UInt64(Self.pieceBytes - Self.overlapBytes)
            }
        }
    }

    /// The position of each occurrence of a word in `bytes`, and what follows it.
    private static func forEach(_ word: [UInt8], in bytes: UnsafeRawBufferPointer, before end: Int, _ body: (Int, Int) -> Void) {
        guard let start = bytes.baseAddress else { return }
        var position = 0
        while position < bytes.count {
            let distance = cll_find(start + position, bytes.count - position, word, word.count)
            guard distance >= 0 else { return }
            let place = position + distance
            position = place + word.count
            guard position < end else { return }
            body(place, position)
        }
    }

    /// Whether a path that is cut here is in a checked-out package.
    private static func isCheckedOut(_ path: Slice<UnsafeRawBufferPointer>) -> Bool {
        // In a line table, a control character ends the path before it.
        let path = path.suffix(overlapBytes / 2).reversed().prefix { $0 >= 0x20 }.reversed()
        return String(decoding: path, as: UTF8.self).contains("/checkouts/")
    }

    /// The first folder of the rest of a path.
    private static func folder(in path: Slice<UnsafeRawBufferPointer>) -> String? {
        let name = path.prefix(overlapBytes / 2).prefix { $0 >= 0x20 && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ".") }
        return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
    }

    /// The name of a crate in symbols: of `index.crates.io-1949cf8c6b5b557f/sha-1-0.10.0/src/lib.rs` the second folder without
    /// its version, `sha_1`.
    private static func crate(in path: Slice<UnsafeRawBufferPointer>, below count: Int) -> String? {
        let text = path.prefix(overlapBytes / 2).prefix { $0 >= 0x20 }
        let folders = text.split(separator: UInt8(ascii: "/"), maxSplits: count + 1, omittingEmptySubsequences: false)
        guard folders.count == count + 2 else { return nil }
        let folder = Array(folders[count])
        // A version contains a point, and may have hyphens after its numbers.
        let hyphen = folder.indices.last { place in
            folder[place] == UInt8(ascii: "-") && place + 1 < folder.count
                && (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(folder[place + 1])
                && folder[place...].contains(UInt8(ascii: "."))
        }
        guard let hyphen, hyphen > 0 else { return nil }
        return String(decoding: folder[..<hyphen].map { $0 == UInt8(ascii: "-") ? UInt8(ascii: "_") : $0 }, as: UTF8.self)
    }

    /// Whether a source file was checked out as a dependency. This finds C code, whose names have no module.
    static func holdsSource(_ path: String) -> Bool {
        var path = path
        return path.withUTF8 { text in
            let bytes = UnsafeRawBufferPointer(text)
            guard let start = bytes.baseAddress else { return false }
            var position = 0
            while position < bytes.count {
                let distance = cll_find(start + position, bytes.count - position, checkouts, checkouts.count)
                guard distance >= 0 else { return false }
                if isScratchFolder(bytes[..<(position + distance)]) { return true }
                position += distance + checkouts.count
            }
            return false
        }
    }

    /// Whether a path ends in the folder into which a build tool checks out packages.
    private static func isScratchFolder(_ path: Slice<UnsafeRawBufferPointer>) -> Bool {
        let component = path.suffix(64).reversed().prefix { $0 != UInt8(ascii: "/") && $0 != 0 }
        let name = String(decoding: component.reversed(), as: UTF8.self)
        return parents.contains { name.hasPrefix($0) }
    }

    /// The folder of a module: of `swift-nio/Sources/NIOCore/…` the third, of `GRDB.swift/GRDB/…` the second, of
    /// `BigInt/Sources/Addition.swift` the first: a package's only module, which usually has the package's name.
    private static func module(in path: Slice<UnsafeRawBufferPointer>) -> String? {
        var components: [String] = []
        var component: [UInt8] = []
        for byte in path.prefix(overlapBytes / 2) {
            // In a line table, a control character ends a path.
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
        return components[components.count >= 3 ? 2 : 0]
    }
}
