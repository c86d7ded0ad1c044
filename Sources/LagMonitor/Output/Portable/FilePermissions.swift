/// Which users may read a new file of lines. Lines contain names of files, functions and hosts, so the default is the owner only.
///
/// A raw value is the mode in octal digits, as in settings; the umask does not restrict a mode that is set explicitly.
public enum FilePermissions: String, Sendable, CaseIterable {
    /// The user whose process creates it.
    case owner = "0600"
    /// The group, too: the process's, or the folder's if that is setgid. For log shippers.
    case group = "0640"
    /// Every user of the machine.
    case everyone = "0644"
}
