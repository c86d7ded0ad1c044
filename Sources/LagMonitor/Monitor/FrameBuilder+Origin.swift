internal import LagDiagnosis

extension FrameBuilder {
    /// Where a frame's code was compiled, from its line information.
    struct Origin {
        let module: String
        /// It is the program's own code, and its line is known.
        let hasLine: Bool
        /// Its module has line information, but none for this frame.
        let lacksLines: Bool
        var code = CodeOrigin.unknown
        /// ``ResolvedFrame/hasUnknownSource``.
        var hasUnknownSource = false
    }

    /// Frames that are not the program's own source: code without lines in a module whose own code has lines. In a static program
    /// this applies to all such code, because the C library and other libraries are in the same file. In any other program it
    /// applies to code that may come from a packaged library. (Its C library is a separate file, as the stack shows, so other
    /// code without lines may be the program's own.)
    static func framesWithoutLines(_ origins: [Origin?]) -> [Int] {
        let modules = Set(origins.compactMap { $0?.module }.filter { $0 != "[vdso]" })
        let withLines = Set(origins.compactMap { $0?.hasLine == true ? $0?.module : nil })
        return origins.indices.filter { index in
            guard let origin = origins[index], origin.lacksLines else { return false }
            if modules.count == 1 { return !withLines.isEmpty }
            return withLines.contains(origin.module) && origin.code == .between
        }
    }

    /// Frames that may belong to a linked-in library: code between the module's own object files and packaged ones; and C code
    /// without lines, if the module's own code has lines and nothing else shows its origin.
    static func doubtfulFrames(_ origins: [Origin?]) -> [Int] {
        let withLines = Set(origins.compactMap { $0?.hasLine == true ? $0?.module : nil })
        return origins.indices.filter { index in
            guard let origin = origins[index], origin.hasUnknownSource else { return false }
            return origin.code == .between
                || (origin.code == .unknown && origin.lacksLines && withLines.contains(origin.module))
        }
    }
}
