/// A sink that may lose lines after it has accepted them, and knows why.
package protocol LossExplainingSink: RecordSink {
    /// Why the last of these lines were lost; nil: none was, or the reason is unknown. Any thread.
    var lossReason: String? { get }
}
