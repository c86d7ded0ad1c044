// Source: the headers of CPython 3.11.2, 3.11.7 and 3.12.1 (Include/internal/pycore_runtime.h, pycore_interp.h, pycore_gil.h, pycore_frame.h, Include/cpython/pystate.h,
// genobject.h, code.h, unicodeobject.h), by offsetof in a program that includes them, x86-64; 64-bit ARM has the same.
extension PythonLayout {
    static let version3x11 = PythonLayout(
        firstInterpreter: 40,
        nextInterpreter: 0,
        firstThread: 16,
        nextThread: 8,
        interpreter: 16,
        nativeThread: 160,
        dataStack: 296,
        current: .cframe(56, currentFrame: 8),
        code: 32,
        previous: 48,
        instruction: 56,
        owner: 69,
        boundary: .entryFlag(offset: 68, previousCFrame: 16),
        generatorFrame: 80,
        fileName: 112,
        qualifiedName: 128,
        lineTable: 136,
        firstLine: 72,
        instructions: 184,
        firstTraceable: 168,
        asciiData: 48,
        compactData: 72,
        lock: .ofRuntime(360),
        collecting: 848,
        attributes: .pointer(32)
    )

    static let version3x12 = PythonLayout(
        firstInterpreter: 40,
        nextInterpreter: 0,
        firstThread: 72,
        nextThread: 8,
        interpreter: 16,
        nativeThread: 144,
        dataStack: 232,
        current: .cframe(56, currentFrame: 0),
        code: 0,
        previous: 8,
        instruction: 56,
        owner: 70,
        boundary: .shim(owner: 3),
        generatorFrame: 72,
        fileName: 112,
        qualifiedName: 128,
        lineTable: 136,
        firstLine: 68,
        instructions: 192,
        firstTraceable: 176,
        asciiData: 40,
        compactData: 56,
        lock: .ofInterpreter(384),
        collecting: 312,
        attributes: .taggedPointer(24)
    )

    /// The layout of a version that says nothing of it itself; nil: not known.
    static func table(major: Int, minor: Int) -> PythonLayout? {
        switch (major, minor) {
        case (3, 11): version3x11
        case (3, 12): version3x12
        default: nil
        }
    }
}
