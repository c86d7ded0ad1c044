/// Who may read a file of lines that is made. Lines hold names of files, functions and hosts, so it is the owner alone unless others are named.
///
/// A raw value is the mode in octal digits, as settings have it; the umask does not narrow a mode that is named.
public enum FilePermissions: String, Sendable, CaseIterable {
    /// The user whose process makes it.
    case owner = "0600"
    /// The group, too: that of the process, or of the folder where that is setgid. For log shippers.
    case group = "0640"
    /// Every user of the machine.
    case everyone = "0644"
}
