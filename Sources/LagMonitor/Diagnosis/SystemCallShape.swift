/// Which arguments of a system call say what it works on. Indices count from 0.
///
/// By name, for the arguments are in the same places on every architecture. Only what is known *while* the call waits:
/// an address or a descriptor that the kernel fills in when it returns is not here. Source: section 2 of the manual pages.
/// Any thread; one look into a table.
package struct SystemCallShape: Sendable, Hashable {
    /// A range of bytes: a pointer, and how many bytes are there.
    package struct Bytes: Sendable, Hashable {
        package let pointer: Int
        package let count: Int
    }

    /// What an argument that names a process or thread is.
    package struct Process: Sendable, Hashable {
        package let argument: Int
        /// Index of an `idtype_t` (waitid), which says what kind of id it is; nil where it is always a process or thread.
        package let kind: Int?
    }

    /// A file descriptor.
    package var descriptor: Int?
    /// The folder that a relative ``path`` starts from: a descriptor, or ``currentFolder``.
    package var folder: Int?
    /// Pointer to a path that ends with a NUL.
    package var path: Int?
    /// A `sockaddr` that the caller has filled in.
    package var socketAddress: Bytes?
    /// An array of `pollfd` (8 bytes each: the descriptor is the first four); the count is of elements.
    package var polled: Bytes?
    /// Whom it waits for or acts on. Negative and 0 stand for groups of processes.
    package var process: Process?

    /// `AT_FDCWD`, as the 32 bits of a ``folder`` argument.
    package static let currentFolder: Int32 = -100

    /// What the arguments of the system call `name` are; nil when nothing of theirs is known.
    package static func of(_ name: String) -> SystemCallShape? { table[name] }

    /// Every name with a shape.
    package static var names: [String] { table.keys.sorted() }

    private static let table: [String: SystemCallShape] = {
        var table: [String: SystemCallShape] = [:]
        func add(_ names: String, _ shape: SystemCallShape) {
            for name in names.split(separator: " ") { table[String(name)] = shape }
        }
        add(
            """
            read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 close lseek fsync fdatasync syncfs \
            sync_file_range fstat fstatfs ftruncate fallocate fadvise64 readahead ioctl fcntl flock getdents getdents64 fchmod \
            fchown fchdir fsetxattr fgetxattr flistxattr fremovexattr recvfrom recvmsg recvmmsg sendmsg sendmmsg accept \
            accept4 listen shutdown getsockname getpeername setsockopt getsockopt epoll_wait epoll_pwait epoll_pwait2 \
            epoll_ctl io_uring_enter timerfd_settime timerfd_gettime inotify_add_watch inotify_rm_watch mq_timedsend \
            mq_timedreceive mq_getsetattr finit_module vmsplice setns dup dup2 dup3 cachestat
            """,
            SystemCallShape(descriptor: 0)
        )
        // Where it reads from: what it waits for. (sendfile's first is where it writes to, and its second a file.)
        add("splice tee copy_file_range sendfile", SystemCallShape(descriptor: 0))
        add("mmap", SystemCallShape(descriptor: 4))
        add("connect bind", SystemCallShape(descriptor: 0, socketAddress: Bytes(pointer: 1, count: 2)))
        add("sendto", SystemCallShape(descriptor: 0, socketAddress: Bytes(pointer: 4, count: 5)))
        add("poll ppoll", SystemCallShape(polled: Bytes(pointer: 0, count: 1)))
        add(
            """
            open creat stat lstat access chdir chroot mkdir rmdir link unlink rename readlink chmod chown lchown truncate \
            statfs utime utimes mknod uselib acct swapon swapoff umount2 execve setxattr lsetxattr getxattr lgetxattr \
            listxattr llistxattr removexattr lremovexattr mq_open mq_unlink
            """,
            SystemCallShape(path: 0)
        )
        add("symlink", SystemCallShape(path: 1))
        add("mount", SystemCallShape(path: 1))
        add(
            """
            openat openat2 mkdirat mknodat fchownat futimesat newfstatat unlinkat renameat renameat2 linkat readlinkat \
            fchmodat fchmodat2 faccessat faccessat2 utimensat execveat statx name_to_handle_at open_tree
            """,
            SystemCallShape(folder: 0, path: 1)
        )
        add("symlinkat", SystemCallShape(folder: 1, path: 2))
        add("wait4 kill tgkill tkill ptrace pidfd_open process_vm_readv process_vm_writev", process(0))
        table["ptrace"] = process(1)
        table["waitid"] = SystemCallShape(process: Process(argument: 1, kind: 0))
        return table

        func process(_ argument: Int) -> SystemCallShape {
            SystemCallShape(process: Process(argument: argument, kind: nil))
        }
    }()
}
