/// Data on a release of V8 that its post-mortem constants (`v8dbg_…`) do not contain.
///
/// Sources: `src/objects/*.tq`, `src/objects/code.h`, `src/objects/bytecode-array.h` and `src/objects/deoptimization-data.h` of the release's
/// tag; each value was compared with the memory of a process of that release. Offsets count from the object's first byte.
///
/// The table only contains the differences from the common values.
struct V8Release: Sendable {
    let major: UInt32
    let minor: UInt32
    /// `JSFunction.code`; nil: it is in a table elsewhere (13.6).
    var functionCode: UInt64? = 48
    /// The source positions of a `BytecodeArray`.
    var bytecodePositions: UInt64 = 24
    /// Its constants.
    var bytecodeConstants: UInt64 = 40
    let code: CodeFields
    var scope = ScopeFields()
    var deoptimization = DeoptimizationFields()
    /// For a release that does not export them.
    var bytecodeSizes: V8BytecodeSizes?

    /// A `Code` object.
    struct CodeFields: Sendable {
        /// Optimised code: the deoptimisation data. Baseline code: the function's `BytecodeArray`.
        var data: UInt64 = 8
        /// Optimised code: source positions. Baseline code: where each bytecode's machine code ends.
        var positions: UInt64 = 16
        var flags: UInt64 = 48
        let instructionBytes: UInt64
        /// Where the table of exception handlers begins behind the instructions, and by how much its entries are shifted.
        let handlerTable: UInt64
        var handlerShift = 3
        /// Where the address of the instructions is; nil: they follow the object's header.
        var instructionStart: UInt64? = 40
        /// From the object before the instructions (`InstructionStream`, before 11.1 `Code` itself) to them.
        var headerBytes: UInt64 = 32
        /// What that object is called in the constants, and where it has its `Code`; nil: it is the `Code`.
        var stream: (type: String, code: UInt64)? = ("InstructionStream__INSTRUCTION_STREAM_TYPE", 8)
    }

    /// A `ScopeInfo`.
    struct ScopeFields: Sendable {
        /// Its flags are a small integer; else a plain one of 32 bits.
        var flagsAreSmall = true
        /// The scope type that is a function's.
        var functionType: UInt32 = 2
        /// The word after the map that has where the function begins in its script; nil: it follows the name that V8 has inferred.
        var position: UInt64?
    }

    /// Indices into the deoptimisation data, and the types that may be there.
    struct DeoptimizationFields: Sendable {
        var arrayType = "FixedArray__FIXED_ARRAY_TYPE"
        var inlinedCount = 1
        var literals = 2
        var literalsType = "WeakFixedArray__WEAK_FIXED_ARRAY_TYPE"
        var function = 6
        /// Whether a `SharedFunctionInfoWrapper` is around the function.
        var isWrapped = false
        var inliningPositions = 7
        /// Where the exits to the interpreter begin, of which the function's own instructions are followed.
        var exitStart = 8
        /// Three words for each exit: the bytecode, how the interpreter's frames are made, and for what is left by a call its return address.
        var firstExit = 11
    }

    /// The releases in Node.js 18, 20, 22 and 24. The short-lived releases in between (19, 21, 23) are not supported.
    static let known = [
        V8Release(
            major: 10,
            minor: 2,
            bytecodePositions: 32,
            bytecodeConstants: 16,
            code: CodeFields(
                data: 16,
                positions: 24,
                instructionBytes: 40,
                handlerTable: 60,
                instructionStart: nil,
                headerBytes: 128,
                stream: nil
            )
        ),
        V8Release(
            major: 11,
            minor: 3,
            bytecodePositions: 32,
            bytecodeConstants: 16,
            code: CodeFields(data: 16, positions: 24, instructionBytes: 56, handlerTable: 72, headerBytes: 16)
        ),
        V8Release(
            major: 12,
            minor: 4,
            functionCode: 24,
            code: CodeFields(instructionBytes: 52, handlerTable: 68),
            deoptimization: DeoptimizationFields(arrayType: "TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE")
        ),
        V8Release(
            major: 13,
            minor: 6,
            functionCode: nil,
            code: CodeFields(flags: 52, instructionBytes: 56, handlerTable: 72, handlerShift: 4),
            scope: ScopeFields(flagsAreSmall: false, functionType: 4, position: 3),
            deoptimization: DeoptimizationFields(
                arrayType: "ProtectedFixedArray__PROTECTED_FIXED_ARRAY_TYPE",
                literals: 3,
                literalsType: "TrustedWeakFixedArray__TRUSTED_WEAK_FIXED_ARRAY_TYPE",
                function: 7,
                isWrapped: true,
                inliningPositions: 8,
                exitStart: 9,
                firstExit: 12
            ),
            bytecodeSizes: .v13u6
        ),
    ]
}
