!//! build: gfortran -O2 -ffree-line-length-none $S $LIB -o $O -llapack -lblas
!//! part: kept
!//! packages: gfortran liblapack-dev
!//! stall integ | wave | wave|simpson|on_integ | cpu
!//! stall bound | relax|grid_relax | relax|grid_relax|advance|on_bound | cpu
!//! stall select | keep_stable | keep_stable|ordered_schur|on_select | syscall
!//! stall inner | spring_force | spring_force|leapfrog|on_inner | cpu
module work
    use iso_c_binding
    implicit none
    interface
        integer(c_int64_t) function nat_now() bind(c); import; end function
        integer(c_int64_t) function nat_cpu() bind(c); import; end function
        subroutine nat_done(n, a, c) bind(c); import; character(c_char) :: n(*); integer(c_int64_t), value :: a, c; end subroutine
        subroutine nat_next(p, b, n) bind(c); import; integer(c_int), value :: p, n; character(c_char) :: b(*); end subroutine
        subroutine nat_hold(m) bind(c); import; integer(c_int), value :: m; end subroutine
    end interface
    abstract interface
        double precision function fun(x); double precision, intent(in) :: x; end function
    end interface
    type :: grid
        double precision :: u(120, 120) = 1
    contains
        procedure :: relax => grid_relax
    end type
    double precision :: acc = 0
contains
    double precision function wave(x)
        double precision, intent(in) :: x
        integer :: k
        wave = sum([(sin(k * x) / k, k = 1, 60)])
    end function
    double precision function simpson(f, a, b, n)
        procedure(fun) :: f
        double precision, intent(in) :: a, b
        integer, intent(in) :: n
        integer :: i
        simpson = 0
        do i = 0, n; simpson = simpson + f(a + (b - a) * i / n) * merge(4, 2, mod(i, 2) == 1); end do
    end function
    subroutine on_integ
        integer(8) :: e
        procedure(fun), pointer :: p
        p => wave
        e = nat_now() + 430000000_8
        do while (nat_now() < e); acc = acc + simpson(p, 0d0, acc * 0 + 3d0, 500); end do
    end subroutine
    subroutine grid_relax(g)
        class(grid), intent(inout) :: g
        integer :: i, j
        do j = 2, 119; do i = 2, 119
            g%u(i, j) = .25d0 * (g%u(i - 1, j) + g%u(i + 1, j) + g%u(i, j - 1) + g%u(i, j + 1)) + 1d-9 * i
        end do; end do
    end subroutine
    subroutine advance(g, n)
        class(grid), intent(inout) :: g
        integer, intent(in) :: n
        integer :: k
        do k = 1, n; call g%relax; end do
    end subroutine
    subroutine on_bound
        class(grid), allocatable :: g
        integer(8) :: e
        allocate (grid :: g)
        e = nat_now() + 430000000_8
        do while (nat_now() < e); call advance(g, 20); end do
        acc = acc + g%u(5, 5)
    end subroutine
    logical function keep_stable(a, b)
        double precision, intent(in) :: a, b
        call nat_hold(45)
        keep_stable = a * a + b * b < 100
    end function
    subroutine ordered_schur(n)
        integer, intent(in) :: n
        double precision :: a(n, n), wr(n), wi(n), vs(n, n), w(20 * n)
        logical :: bw(n)
        integer :: sd, info, i, j
        external :: dgees
        a = reshape([((mod(i * j * 7919, 101), i = 1, n), j = 1, n)], [n, n])
        call dgees('N', 'S', keep_stable, n, a, n, sd, wr, wi, vs, n, w, 20 * n, bw, info)
        acc = acc + sd
    end subroutine
    subroutine on_select; call ordered_schur(10); end subroutine
    subroutine leapfrog(f, n, x)
        procedure(fun) :: f
        integer, intent(in) :: n
        double precision, intent(inout) :: x
        double precision :: v
        integer :: i
        v = 0
        do i = 1, n; v = v - f(x) * .01d0; x = x + v * .01d0; end do
    end subroutine
    subroutine on_inner
        integer(8) :: e
        double precision :: k, x
        k = 3; x = 1; e = nat_now() + 430000000_8
        do while (nat_now() < e); call leapfrog(spring_force, 300, x); end do
        acc = acc + x
    contains
        double precision function spring_force(y)
            double precision, intent(in) :: y
            integer :: i
            spring_force = sum([(k * y / i + cos(y * i) * 1d-3, i = 1, 60)])
        end function
    end subroutine
    subroutine dispatch(n)
        character(*), intent(in) :: n
        integer(8) :: a, c
        a = nat_now(); c = nat_cpu()
        select case (n)
        case ('integ'); call on_integ
        case ('bound'); call on_bound
        case ('select'); call on_select
        case ('inner'); call on_inner
        case default; return
        end select
        call nat_done(n // c_null_char, a, c)
    end subroutine
end module
program fcall
    use work
    character(20) :: p
    character(c_char) :: b(100)
    character(100) :: t
    integer :: port, i
    call get_command_argument(1, p)
    read (p, *) port
    do
        call nat_next(port, b, 100)
        t = ' '
        do i = 1, 99; if (b(i) == c_null_char) exit; t(i:i) = b(i); end do
        call dispatch(trim(t))
    end do
end program
