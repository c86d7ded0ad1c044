/// Data that all stacks of one Perl share.
struct PerlProgram: Sendable {
    let layout: PerlLayout
    /// The first one, which runs in the main thread.
    let interpreter: UInt64
    /// The functions that run statements: `pp_nextstate`, and with the debugger `pp_dbstate`.
    let statementFunctions: [UInt64]
}
