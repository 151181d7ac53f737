//! Languages in the tradition of Algol and Fortran.

use super::rules::{Anchor, DASHES, DOUBLE, LineRule, PLAIN, Rules, SINGLE, SLASHES, block, mark, quote, sigil};
use crate::category::Category::{Comment, Function, Keyword, Type, Variable};
use crate::lex::words::Then;

languages! {
    ADA "ada adb ads gpr" {
        words: &[
            (Keyword, Then::Type, "package body type subtype"),
            (Keyword, Then::Function, "function procedure"),
            (Keyword, Then::Any,
             "abort abs abstract accept access aliased all and array at begin case constant declare delay delta digits do else elsif end entry exception exit for \
              generic goto if in interface is limited loop mod new not null of or others out overriding parallel pragma private protected raise range record \
              rem renames requeue return reverse select separate some synchronized tagged task terminate then until use when while with xor true false"),
            (Type, Then::Any, "boolean character duration float integer long_float long_integer natural positive string"),
        ],
        fold: true,
        comments: &[DASHES],
        regions: &[DOUBLE.doubled(), quote("'").raw().within(2).at(Anchor::NotAfterValue)],
        sigils: &[sigil("'", Variable)],
        number_marks: "#",
    }
    FORTRAN "fortran f f77 f90 f95 f03 f08 for fpp" {
        words: &[
            (Keyword, Then::Type, "module program type interface"),
            (Keyword, Then::Function, "function subroutine"),
            (Keyword, Then::Any,
             "abstract allocatable allocate assign assignment associate asynchronous backspace bind block blockdata call case class close codimension common concurrent contains contiguous continue critical cycle data deallocate deferred dimension \
              do elemental else elseif elsewhere end endassociate endblock enddo endfunction endif endinterface endmodule endprogram endselect endsubroutine endtype endwhere entry enum enumerator equivalence exit extends external final flush forall format generic go goto \
              if implicit import impure in include inout inquire intent intrinsic is kind len local namelist non_overridable none nopass nullify only open operator optional out parameter pass pause pointer print private procedure \
              protected public pure read recursive result return rewind save select sequence stat stop submodule sync target then to use value volatile wait where while write \
              .and. .eq. .eqv. .ge. .gt. .le. .lt. .ne. .neqv. .not. .or. .true. .false. character complex double doubleprecision integer logical precision real"),
            (Function, Then::Any,
             "abs acos adjustl adjustr aimag all allocated any asin associated atan atan2 ceiling char cmplx conjg cos cosh count cpu_time date_and_time dble dot_product epsilon exp floor huge iachar ichar index int lbound len_trim log log10 matmul max maxloc maxval merge min minloc \
              minval mod modulo nint pack present product random_number repeat reshape scan shape sign sin sinh size spread sqrt sum system_clock tan tanh tiny transpose trim ubound unpack verify"),
        ],
        fold: true,
        comments: &[("!", Anchor::Any)],
        lines: &[LineRule { begin: "C ", category: Comment, indented: false, whole: true }, LineRule { begin: "* ", category: Comment, indented: false, whole: true }, mark("#include", Keyword), mark("#ifdef", Keyword), mark("#endif", Keyword)],
        regions: &[
            DOUBLE.doubled(), SINGLE.doubled(), quote(".").raw().within(7).is(Keyword).at(Anchor::AfterBlank), quote(".").raw().within(7).is(Keyword).at(Anchor::NotAfterValue),
        ],
        open_numbers: true,
    }
    PASCAL "pascal delphi pas dpr dfm dpk lpr freepascal lazarus objectpascal" {
        words: &[
            (Keyword, Then::Function, "constructor destructor function procedure"),
            (Keyword, Then::Module, "program unit"),
            (Keyword, Then::Any,
             "abstract and array as asm assembler at automated begin break case cdecl class const contains continue default delayed deprecated dispid dispinterface div do downto dynamic \
              else end except export exports external far file final finalization finally for forward generic goto helper if implementation implements in index inherited initialization inline interface is label \
              library local message mod name near nil nodefault not object of on operator or out overload override package packed pascal platform private property protected public published raise read \
              readonly record reference register reintroduce repeat requires resident resourcestring result safecall sealed set shl shr specialize static stdcall stored strict string then threadvar to true false try type unsafe until uses \
              var varargs virtual while with write xor exit"),
            (Type, Then::Any,
             "ansistring boolean byte cardinal char currency double extended int64 integer longint longword pchar pointer real shortint shortstring single smallint tdatetime uint64 unicodestring variant widestring word"),
        ],
        fold: true,
        comments: &[SLASHES],
        regions: &[block("{$", "}").is(Keyword), block("{", "}"), block("(*", "*)"), SINGLE.doubled()],
        number_prefixes: &["$", "#$", "#", "%"],
        statement_ends: ";",
    }
}
