internal import CLagLinux
internal import Glibc
internal import LagCapture

/// Distinguishes functions of the same name in files of the same name: `get (views.py)` of `orders` and of `users`.
///
/// A file's folder counts if it is below the folder in which the program was started, or the folder of its script; files directly
/// in these have none. So the place of installation does not count.
struct ProgramFolders {
    private static let maximumBytes = 4096

    /// The base of relative names; nil: not known.
    private let working: String?
    private let starts: [String]

    init(process: Int32) { self.init(working: Self.workingFolder(process), arguments: Self.arguments(process)) }

    /// - Parameter arguments: with the program's name, which is left out.
    init(working: String?, arguments: [String]) {
        self.working = working
        var starts = [working].compactMap(\.self)
        let script = arguments.dropFirst().first { !$0.hasPrefix("-") }
        if let script, script.utf8.contains(UInt8(ascii: ".")), let folder = Self.folder(of: script, from: working) {
            starts.append(folder)
        }
        // All lies below `/`.
        self.starts = starts.filter { $0.utf8.count > 1 }
    }

    /// Adds the folder of its file to the function's variant, if its name contains the file's name.
    func marked(_ name: LanguageFrameName) -> LanguageFrameName {
        guard let file = name.file, let base = file.split(separator: "/").last, name.symbol.hasSuffix(" (\(base))"),
            let folder = Self.folder(of: file, from: working), !starts.contains(folder),
            starts.contains(where: { folder.hasPrefix($0 + "/") }), let last = folder.split(separator: "/").last
        else { return name }
        var marked = name
        marked.variant = (name.variant ?? "") + " in " + last
        return marked
    }

    /// Without the last slash; a start `./` does not count.
    private static func folder(of file: String, from working: String?) -> String? {
        var path = file
        if !file.hasPrefix("/") {
            guard let working else { return nil }
            path = working + "/" + (file.hasPrefix("./") ? String(file.dropFirst(2)) : file)
        }
        return path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) }
    }

    private static func workingFolder(_ process: Int32) -> String? {
        var buffer = [CChar](repeating: 0, count: maximumBytes)
        let count = readlink("/proc/\(process)/cwd", &buffer, buffer.count)
        guard count > 0, count < buffer.count, buffer[0] == CChar(UInt8(ascii: "/")) else { return nil }
        return String(decoding: buffer.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func arguments(_ process: Int32) -> [String] {
        var buffer = [CChar](repeating: 0, count: maximumBytes)
        let count = cll_procfs_read(process, 0, "cmdline", &buffer, buffer.count)
        guard count > 0, count <= buffer.count else { return [] }
        return buffer.prefix(count).split(separator: 0).map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    }
}
