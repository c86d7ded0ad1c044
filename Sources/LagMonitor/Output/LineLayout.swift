/// A format other than the native one: one type for each, in the product LagMonitorDelivery.
package protocol LineLayout: Sendable {
    /// Writes the whole line of a record, newline included, within the limit.
    func write(_ record: StallRecord, context: ProcessContext, limits: LineLimits, to writer: inout JSONLineWriter)

    func write(_ notice: Notice, context: ProcessContext, limits: LineLimits, to writer: inout JSONLineWriter)
}
