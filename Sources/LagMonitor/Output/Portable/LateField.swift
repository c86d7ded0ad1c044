/// How a finished line of a format is marked as late: how the format's lines begin and end, and what is inserted before their
/// end.
///
/// In the native format it is the field `late` at the end of the line, in other formats the field's form there
/// (`lagmonitor.late`).
package struct LateField: Sendable {
    package let opening: [UInt8]
    package let closing: [UInt8]
    package let member: [UInt8]

    package init(_ opening: String, _ closing: String, _ member: String = #""late":true"#) {
        (self.opening, self.closing, self.member) = (Array(opening.utf8), Array(closing.utf8), Array(member.utf8))
    }

    package var byteCount: Int { member.count + 1 }
}
