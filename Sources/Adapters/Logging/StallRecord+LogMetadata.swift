#if Logging
    public import LagMonitor
    public import Logging

    extension StallRecord {
        /// The fields that identify the whole record, and by which entries are filtered. The duration is in the message.
        private static let shortFields: Set<StallField> = [.id, .fingerprint, .loop, .cause, .culprit]

        /// The record as structured metadata, with the names of the JSON line. Fields that a record lacks are left out.
        public func logMetadata(_ detail: StallLogDetail = .full()) -> Logger.Metadata {
            var metadata: Logger.Metadata = [:]
            for field in FieldTable.stall where field.formats.contains(.metadata) {
                var limit = 0
                switch detail {
                case .short: guard Self.shortFields.contains(field.field) else { continue }
                case .full(let frames): limit = frames
                }
                metadata["\(field.name)"] = field.access.ofStall?(self).flatMap { Self.metadata($0, frames: limit) }
            }
            return metadata
        }

        private static func metadata(_ value: FieldValue, frames limit: Int) -> Logger.MetadataValue? {
            switch value {
            case .text(let text): .string(PlainText.sanitized(text))
            case .texts(let texts): .array(texts.map { .string(PlainText.sanitized($0)) })
            case .id(let id): .string(id.description)
            case .count(let number): .string(number.description)
            case .integer(let number): .string(number.description)
            case .share(let share): .string(share.description)
            case .milliseconds, .seconds: value.thousandths.map(decimal)
            case .time(let nanoseconds): .string(UTCTime.text(nanoseconds, fractionDigits: 9))
            case .address(let address): hex(address)
            case .flag(let flag): .string(flag.description)
            case .thread(let thread): owner(thread)
            case .threads(let threads): .array(threads.map(owner))
            case .frames(let frames): limit > 0 && !frames.isEmpty ? .array(frames.prefix(limit).map(frame)) : nil
            case .request(let request): Self.request(request)
            case .task(let task): Self.task(task)
            case .attributes(let attributes): Self.attributes(attributes)
            case .workers, .sampleTree, .labels, .requests: nil
            }
        }

        private static func request(_ request: Request) -> Logger.MetadataValue {
            var value: Logger.Metadata = ["name": .string(PlainText.sanitized(request.name))]
            value["open_ms"] = request.openNanoseconds.map { decimal($0 / 1000) }
            if !request.attributes.isEmpty { value["attributes"] = attributes(request.attributes) }
            return .dictionary(value)
        }

        private static func attributes(_ attributes: [Request.Attribute]) -> Logger.MetadataValue {
            var value: Logger.Metadata = [:]
            for attribute in attributes { value[PlainText.sanitized(attribute.name)] = text(attribute.value) }
            return .dictionary(value)
        }

        private static func task(_ task: RunningTask) -> Logger.MetadataValue {
            var value: Logger.Metadata = ["id": "\(task.id)"]
            value["name"] = text(task.name)
            value["priority"] = task.priority.map { "\($0)" }
            if !task.awaitedBy.isEmpty { value["awaited_by"] = metadata(.texts(task.awaitedBy), frames: 0) }
            return .dictionary(value)
        }

        private static func owner(_ owner: LockOwner) -> Logger.MetadataValue {
            var value: Logger.Metadata = ["thread_id": "\(owner.threadID)"]
            value["thread_name"] = text(owner.threadName)
            value["waits_for"] = hex(owner.waitsFor)
            return .dictionary(value)
        }

        private static func frame(_ frame: Frame) -> Logger.MetadataValue {
            var value: Logger.Metadata = [:]
            for member in FrameMember.all { value["\(member.name)"] = member.value(frame).flatMap { metadata($0, frames: 0) } }
            return .dictionary(value)
        }

        private static func text(_ value: String?) -> Logger.MetadataValue? { value.map { .string(PlainText.sanitized($0)) } }

        private static func hex(_ value: UInt64?) -> Logger.MetadataValue? {
            value.map { .string(Hexadecimal.address($0)) }
        }

        /// With three fractional digits, as in the line.
        private static func decimal(_ thousandths: UInt64) -> Logger.MetadataValue {
            .string("\(thousandths / 1000).\(String(thousandths % 1000 + 1000).dropFirst())")
        }
    }
#endif
