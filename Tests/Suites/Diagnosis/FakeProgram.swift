import Foundation
import TestSupport
import Testing

/// A shell script in place of `llvm-symbolizer`.
struct FakeProgram {
    let scratch: ScratchDirectory
    let path: String

    /// Answers every query with one level, and runs `first` before the first one.
    static func answering(first: String = "") throws -> FakeProgram {
        try FakeProgram(first + "\nwhile read -r file address; do printf '%s\\nf\\n/src/a.c:7:3\\n\\n' \"$address\"; done")
    }

    init(_ script: String) throws {
        scratch = try ScratchDirectory()
        path = try scratch.write(Array("#!/bin/sh\nD='\(scratch.path)'\n\(script)\n".utf8), to: "symbolizer")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }

    /// How often the script recorded something with `echo >> $D/NAME`.
    func lines(of name: String) -> [Substring] {
        let text = try? String(contentsOfFile: scratch.path + "/" + name, encoding: .utf8)
        return (text ?? "").split(separator: "\n")
    }
}
