internal import CLibunwind
internal import LagModel

/// A loaded program or library, as named in a record.
package struct ModuleInfo: Sendable, Equatable {
    /// The path from which it was mapped, or `[vdso]`.
    package let path: String
    /// The GNU build-id in lower-case hexadecimal; empty if the file has none.
    package let buildID: String
    /// Address = bias + ELF virtual address.
    package let bias: UInt64

    /// The file's name without its folders.
    package var baseName: String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[path.utf8.index(after: slash)...])
    }
}

extension ModuleInfo {
    init(_ module: UnsafePointer<clu_module>) {
        let path = String(decoding: MapsLine.pathBytes(module), as: UTF8.self)
        let buildID = withUnsafeBytes(of: module.pointee.build_id) {
            Hexadecimal.text($0.prefix(Int(module.pointee.build_id_length)))
        }
        self.init(path: path, buildID: buildID, bias: module.pointee.bias)
    }
}
