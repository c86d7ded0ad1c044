/// The layout of CPython's structures for frames: offsets in bytes, of 64-bit builds with the interpreter's lock.
///
/// One for each minor version; patch versions keep their structures. A layout is used only if its data is consistent with other
/// data (``PythonThreads``, ``PythonCode``).
struct PythonLayout: Sendable, Equatable {
    /// How a frame says that it is the outermost that one call of the evaluation function runs.
    enum Boundary: Sendable, Equatable {
        /// Its `is_entry`, at this offset; the evaluation function's `_PyCFrame` lies on the C stack, linked by `previous`.
        case entryFlag(offset: UInt64, previousCFrame: UInt64)
        /// A frame without code below it, which lies on the C stack itself: its `owner` is at least this.
        case shim(owner: UInt8)
    }

    /// How the thread state leads to the innermost frame.
    enum Current: Sendable, Equatable {
        /// By its `cframe`, and that one's `current_frame`.
        case cframe(UInt64, currentFrame: UInt64)
        case frame(UInt64)
    }

    /// Where the interpreter's lock is.
    enum Lock: Sendable, Equatable {
        /// `ceval.gil` of `_PyRuntimeState`: one for all.
        case ofRuntime(UInt64)
        /// `ceval.gil` of `PyInterpreterState`, a pointer: interpreters may have their own.
        case ofInterpreter(UInt64)
    }

    /// Where the values of an object's attributes are, as long as it has no dictionary.
    enum Attributes: Sendable, Equatable {
        /// What lies so far before the object leads there.
        case pointer(UInt64)
        /// The same, with 1 less.
        case taggedPointer(UInt64)
        /// In an object of a class without a base in C, behind its header.
        case inline(UInt64)
    }

    /// In `_PyRuntimeState`.
    var firstInterpreter: UInt64
    /// In `PyInterpreterState`.
    var nextInterpreter: UInt64
    var firstThread: UInt64
    /// In `PyThreadState`.
    var nextThread: UInt64
    var interpreter: UInt64
    var nativeThread: UInt64
    /// `datastack_chunk`; `datastack_top` follows.
    var dataStack: UInt64
    var current: Current
    /// In `_PyInterpreterFrame`.
    var code: UInt64
    var previous: UInt64
    var instruction: UInt64
    var owner: UInt64
    var boundary: Boundary
    /// In `PyGenObject` and those like it.
    var generatorFrame: UInt64
    /// In `PyCodeObject`.
    var fileName: UInt64
    var qualifiedName: UInt64
    var lineTable: UInt64
    var firstLine: UInt64
    /// `co_code_adaptive`: where the instructions begin, and the structure ends.
    var instructions: UInt64
    /// `_co_firsttraceable`: instructions before it make the frame ready.
    var firstTraceable: UInt64
    /// Of a compact string that is ASCII, and of another one: where the characters begin.
    var asciiData: UInt64
    var compactData: UInt64
    /// Nil: not known.
    var lock: Lock?
    /// `gc.collecting` in `PyInterpreterState`; nil: not known.
    var collecting: UInt64?
    /// Nil: not known.
    var attributes: Attributes?
    /// In the C library's own structure of a thread, to which `pthread_t` leads: the kernel's number of the thread; nil: not known.
    var descriptorNumber: UInt64?
    /// The number of the process's main thread, as the process itself knows it.
    var mainThread: Int32?

    /// `_frameowner`: the frame lies in a generator or coroutine, and was made ready when that was made.
    static let ownedByGenerator: UInt8 = 1
    /// `PyObject.ob_type`, `PyVarObject.ob_size`, `PyASCIIObject.length` and `.state`, `PyBytesObject.ob_sval`.
    static let type: UInt64 = 8
    static let size: UInt64 = 16
    static let textState: UInt64 = 32
    static let byteData: UInt64 = 32
    /// `PyCodeObject.co_names`, after `co_consts`, with which the fixed part begins; `PyTupleObject.ob_item`.
    static let names: UInt64 = 32
    static let tupleItems: UInt64 = 24
    /// Of an instruction (`_Py_CODEUNIT`).
    static let instructionBytes: UInt64 = 2
    /// What a frame is without its variables.
    static let frameBytes = 80
    /// No code object's fixed part is longer.
    static let maximumCodeBytes: UInt64 = 1024
}
