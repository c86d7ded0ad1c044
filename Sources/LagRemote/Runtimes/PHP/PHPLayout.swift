/// The layout of PHP's frames, by version. PHP exports no such table: a version is recognised by the size of its global state,
/// and the data of a frame is only used if it is consistent (``PHPFunction``).
///
/// Source: `Zend/zend_globals.h`, `zend_compile.h`, `zend_string.h` and `zend.h` of the version's tag, by `offsetof` with the headers of
/// Debian's 8.2 on x86-64; builds without threads (what `php`, php-fpm and Apache's module are by default).
struct PHPLayout: Sendable {
    let version: String
    /// `zend_executor_globals`.
    let globalsBytes: UInt64
    /// Its innermost frame.
    let currentFrame: UInt64
    /// `zend_execute_data`: the instruction, the function, its object, how it was called, and the caller's.
    let frameInstruction, frameFunction, frameObject, frameCall, framePrevious: UInt64
    let frameBytes: Int
    /// `zend_generator`: its frame, the generator that it delegates to, and the link of that one's frame.
    let generatorFrame, generatorParent, generatorPlaceholder: UInt64
    let generatorBytes: Int
    /// `zend_function`: its name, its class.
    let functionName, functionClass: UInt64
    /// `zend_op_array`, a function that is written in PHP: the number of instructions, the instructions, and the file.
    let functionCount, functionCode, functionFile: UInt64
    /// The number of parameters, and their `zend_arg_info`, which begin with their names; its first and its last line.
    let functionParameterCount, functionParameters, functionFirstLine, functionLastLine: UInt64
    let parameterBytes: UInt64
    let functionBytes: Int
    /// `zend_op`, and the offsets of its line and its kind.
    let instructionBytes, instructionLine: UInt64
    let instructionKind: Int
    /// Its second operand, and the kind of that.
    let instructionOperand, instructionOperandKind: Int
    /// `ZEND_INIT_…`, `ZEND_FETCH_…`, `ZEND_ASSIGN_…`: kinds whose second operand is the name of a callee, a property or an
    /// element (`zend_vm_opcodes.h`).
    let namingKinds: Set<UInt8>
    /// `zend_string`: its length and its bytes.
    let stringLength, stringBytes: UInt64
    /// `zval`: its kind, and the kind of a string.
    let valueKind: UInt64
    let textKind: UInt8
    /// `zend_class_entry`: its name.
    let className: UInt64

    static let known = [
        PHPLayout(
            version: "8.2",
            globalsBytes: 1800,
            currentFrame: 488,
            frameInstruction: 0,
            frameFunction: 24,
            frameObject: 32,
            frameCall: 40,
            framePrevious: 48,
            frameBytes: 56,
            generatorFrame: 56,
            generatorParent: 152,
            generatorPlaceholder: 184,
            generatorBytes: 160,
            functionName: 8,
            functionClass: 16,
            functionCount: 80,
            functionCode: 88,
            functionFile: 152,
            functionParameterCount: 32,
            functionParameters: 40,
            functionFirstLine: 160,
            functionLastLine: 164,
            parameterBytes: 32,
            functionBytes: 168,
            instructionBytes: 32,
            instructionLine: 24,
            instructionKind: 28,
            instructionOperand: 12,
            instructionOperandKind: 30,
            namingKinds: [59, 61, 69, 112, 113, 23, 24, 81, 82, 90, 91],
            stringLength: 16,
            stringBytes: 24,
            valueKind: 8,
            textKind: 6,
            className: 8
        )
    ]
}
