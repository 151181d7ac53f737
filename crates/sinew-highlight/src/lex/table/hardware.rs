//! Assemblers, intermediate representations and hardware description languages.

use super::rules::{
    Anchor, C_COMMENT, Calls, DASHES, DOUBLE, Key, PLAIN, Rules, SEMICOLON, SINGLE, SLASHES, Sigil, key, quote, sigil,
};
use crate::category::Category::{Function, Keyword, Type, Variable};
use crate::lex::words::{Row, Then};

/// `label:` at the beginning of a line.
const LABEL: Key = Key { spaced: false, ..key(":", Function) };

languages! {
    ARMASM "armasm arm" {
        words: ARM,
        fold: true,
        comments: &[SEMICOLON, SLASHES, ("@", Anchor::AfterBlank), ("@", Anchor::LineStart), ("#", Anchor::Column0)],
        regions: &[C_COMMENT, DOUBLE, SINGLE.within(40)],
        number_prefixes: &["#-", "#", "=0x", "$0x", "&"],
        keys: &[LABEL],
        letters: ".",
        begins: ".",
        calls: Calls::Command,
        statement_ends: "",
        words_after_dot: true,
    }
    ASM "asm s assembly x86asm nasm yasm gas masm" {
        words: X86,
        fold: true,
        comments: &[SEMICOLON, ("#", Anchor::LineStart), ("#", Anchor::AfterBlank), SLASHES],
        regions: &[C_COMMENT, DOUBLE, SINGLE.raw().within(400), quote("`").within(400)],
        sigils: &[Sigil { place: Anchor::LineStart, ..sigil("%", Keyword) }, sigil("%%", Variable), sigil("%", Variable)],
        number_prefixes: &["$0x", "$"],
        keys: &[LABEL],
        letters: ".$@?",
        begins: ".",
        calls: Calls::Command,
        statement_ends: "",
    }
    LLVM "llvm ll" {
        words: &[
            (Keyword, Then::Any,
             "acq_rel acquire addrspace alias align alignstack allocsize alwaysinline any appending arcp asm atomic attributes available_externally blockaddress byval c catch caller cc ccc cleanup coldcc comdat common constant contract convergent cxx_fast_tlscc \
              datalayout declare default define deplibs dereferenceable dllexport dllimport dso_local eq exact except extern_weak external externally_initialized false fast fastcc filter from gc global hhvmcc hidden hot immarg inalloca \
              inbounds initialexec inlinehint inreg intel_ocl_bicc inteldialect internal jumptable linkonce linkonce_odr local_unnamed_addr localdynamic localexec max metadata min minsize module monotonic msp430_intrcc \
              musttail naked nand nest ninf nnan noalias nobuiltin nocapture noduplicate noimplicitfloat noinline nonlazybind nonnull norecurse noredzone noreturn notail nounwind nsw nsz null nuw oeq oge ogt ole olt one opaque \
              optnone optsize ord partition personality prefix preserve_allcc private prologue protected ptx_device ptx_kernel readnone readonly release returned returns_twice safestack samesize sanitize_address section seq_cst sge sgt sideeffect signext \
              singlethread sle slt source_filename spir_func spir_kernel sret ssp sspreq sspstrong strictfp swiftcc swifterror swiftself syncscope tail target thread_local to triple true type uge ugt ule ult umax umin undef une unnamed_addr uno unordered unwind uwtable \
              volatile weak weak_odr within writeonly x xchg zeroext zeroinitializer \
              add addrspacecast alloca and ashr atomicrmw bitcast br call callbr catchpad catchret catchswitch cleanuppad cleanupret cmpxchg eq extractelement extractvalue fadd fcmp fdiv fence fmul fneg fpext fptosi fptoui fptrunc freeze frem fsub getelementptr icmp indirectbr insertelement insertvalue inttoptr \
              invoke landingpad load lshr mul ne or phi poison ptrtoint resume ret sdiv select sext shl shufflevector sitofp srem store sub switch trunc udiv uitofp unreachable urem va_arg xor zext"),
            (Type, Then::Any, "double float half bfloat fp128 i1 i8 i16 i24 i32 i64 i128 label ptr token void x86_fp80 x86_mmx ppc_fp128"),
        ],
        comments: &[SEMICOLON],
        regions: &[DOUBLE.raw().begin("c\""), DOUBLE.raw().begin("@\"").is(Function), DOUBLE.raw().begin("%\"").is(Variable), DOUBLE.raw()],
        sigils: &[Sigil { braces: "", ..sigil("@", Function) }, sigil("%", Variable), sigil("!", Variable), sigil("#", Variable), sigil("$", Variable)],
        letters: ".$-",
        keys: &[LABEL],
        calls: Calls::None,
        signed: true,
    }
    SYSTEMVERILOG "systemverilog sv svh" from VERILOG_RULES {}
    VERILOG "verilog v vh" from VERILOG_RULES {}
    VHDL "vhdl vhd vho" {
        words: &[
            (Keyword, Then::Type, "entity architecture package component configuration"),
            (Keyword, Then::Function, "function procedure"),
            (Keyword, Then::Any,
             "abs access after alias all and array assert assume assume_guarantee attribute begin block body buffer bus case constant context cover default disconnect downto else elsif end exit fairness file \
              for force generate generic group guarded if impure in inertial inout is label library linkage literal loop map mod nand new next nor not null of on open or others out parameter port postponed process \
              property protected pure range record register reject release rem report restrict restrict_guarantee return rol ror select sequence severity shared signal sla sll sra srl strong subtype then to transport \
              type unaffected units until use variable view vmode vprop vunit wait when while with xnor xor true false note warning error failure"),
            (Type, Then::Any,
             "bit bit_vector boolean character delay_length file_open_kind integer line natural positive real severity_level side signed std_logic std_logic_vector std_ulogic std_ulogic_vector string text time unsigned"),
        ],
        fold: true,
        comments: &[DASHES],
        regions: &[C_COMMENT, DOUBLE.raw(), DOUBLE.raw().begin("x\""), DOUBLE.raw().begin("X\""), DOUBLE.raw().begin("b\""), DOUBLE.raw().begin("B\""), DOUBLE.raw().begin("O\""), quote("'").raw().within(2).at(Anchor::NotAfterValue)],
        sigils: &[sigil("'", Variable)],
        number_marks: "#",
        shouted: Variable,
    }
}

const VERILOG_RULES: Rules = Rules {
    words: &[
        (Keyword, Then::Type, "class interface module package program struct endclass endmodule"),
        (Keyword, Then::Function, "function task"),
        (
            Keyword,
            Then::Any,
            "accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins binsof break buf bufif0 bufif1 case casex casez cell checker clocking cmos \
          config const constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge else end endcase endchecker endclocking \
          endconfig endfunction endgenerate endgroup endinterface endpackage endprimitive endprogram endproperty endsequence endspecify endtable endtask enum eventually expect export extends \
          extern final first_match for force foreach forever fork forkjoin generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input inside \
          instance interconnect intersect join join_any join_none large let liblist library local localparam macromodule matches medium modport nand negedge nettype new nexttime nmos nor noshowcancelled not \
          notif0 notif1 null or output packed parameter pmos posedge primitive priority property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase \
          randsequence rcmos ref reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence showcancelled \
          small soft solve specify specparam static strong strong0 strong1 super sync_accept_on sync_reject_on table tagged this throughout timeprecision timeunit tran tranif0 tranif1 \
          type typedef unique unique0 until until_with untyped use uwire var vectored virtual void wait wait_order weak weak0 weak1 while wildcard with within xnor xor \
          bit byte chandle event int integer logic longint real realtime reg shortint shortreal signed string supply0 supply1 time tri tri0 tri1 triand trior trireg union unsigned wand wire wor",
        ),
    ],
    comments: &[SLASHES],
    regions: &[C_COMMENT, DOUBLE],
    sigils: &[sigil("$", Function), sigil("`", Keyword)],
    number_marks: "'",
    number_prefixes: &["'h", "'b", "'d", "'o", "'H", "'B", "'D", "'sh", "'sb", "'sd", "'"],
    shouted: Variable,
    letters: "$",
    operators: "+-*/%=!&|^~<>?@#",
    ..PLAIN
};

const X86: &[Row] = &[
    (
        Keyword,
        Then::Any,
        "aaa aad aam aas adc add addpd addps addsd addss and andn andpd andps bsf bsr bswap bt btc btr bts call callq cbw cdq cdqe clc cld cli clts cmc cmova cmovae cmovb cmovbe cmovc cmove cmovg cmovge cmovl cmovle cmovne cmovng cmovnl cmovno \
      cmovnp cmovns cmovnz cmovo cmovp cmovs cmovz cmp cmpb cmpl cmpq cmpsb cmpsd cmpsq cmpsw cmpw cmpxchg cpuid cqo cvtsd2si cvtsi2sd cvtss2sd cwd cwde daa das dec decl decq div divpd divps divsd divss emms enter fabs fadd faddp fchs fcom fdiv \
      fild fist fistp fld fld1 fldcw fldpi fldz fmul fmulp fnstcw fst fstp fsub fxch hlt idiv idivl imul imull imulq in inc incl incq insb insd insw int into invlpg iret iretd iretq ja jae jb jbe jc jcxz je jecxz jg jge jl jle jmp jmpq jna jnae jnb jnbe jnc jne jng \
      jnge jnl jnle jno jnp jns jnz jo jp jpe jpo jrcxz js jz lahf lea leal leaq leave leaveq lfence lgdt lidt lock lodsb lodsd lodsq lodsw loop loope loopne loopnz loopz ltr mfence mov movabs movapd movaps movb movd movdqa movdqu movl movq movs movsb movsd movslq movsq movss \
      movsw movsx movsxd movupd movups movw movzb movzbl movzwl movzx mul mulpd mulps mulsd mulss neg negl negq nop nopw not notl notq or orl orpd orps orq out outsb pause pop popa popad popcnt popf popfd popfq popl popq prefetch push pusha pushad pushf pushfd pushfq pushl pushq pxor rcl rcr rdmsr \
      rdtsc rep repe repne repnz repz ret retf retn retq rol ror sahf sal sar sarl sarq sbb scasb scasd scasw seta setae setb setbe sete setg setge setl setle setne setnz seto sets setz sfence sgdt shl shld shll shlq shr shrd shrl shrq sidt sqrtpd sqrtps sqrtsd sqrtss stc std \
      sti stosb stosd stosq stosw sub subb subl subpd subps subq subsd subss swapgs syscall sysenter sysexit sysret test testb testl testq ucomisd ucomiss ud2 vaddpd vaddps vmovaps vmovups vmulps vxorps vzeroupper wait wbinvd wrmsr xadd xchg xor xorl xorpd xorps xorq",
    ),
    (
        Keyword,
        Then::Any,
        "absolute align alignb assume at bits common cpu default end endp ends endstruc equ extern global incbin iend istruc org proc section seg segment struc textequ times use16 use32 use64 \
      db dd do dq dt dw dy dz resb resd reso resq rest resw resy resz byte dword far near ptr qword rel short tword word yword zword oword \
      .align .ascii .asciz .bss .byte .cfi_endproc .cfi_startproc .code .comm .data .double .endif .else .equ .extern .file .float .global .globl .ident .if .include .int .intel_syntax .loc .long .macro .endm .model .p2align .quad .section .set .short .size .skip .space .stack .string .text .type .weak .word .zero",
    ),
    (
        Type,
        Then::Any,
        "ah al ax bh bl bp bpl bx ch cl cr0 cr2 cr3 cr4 cs cx dh di dil dl dr0 dr7 ds dx eax ebp ebx ecx edi edx eip es esi esp fs gs ip r10 r10b r10d r10w r11 r11b r11d r11w r12 r12b r12d r12w r13 r13d r14 r14d r15 r15d r8 r8b r8d r8w r9 r9b r9d r9w \
      rax rbp rbx rcx rdi rdx rip rsi rsp si sil sp spl ss st st0 st1 xmm0 xmm1 xmm10 xmm11 xmm12 xmm13 xmm14 xmm15 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7 xmm8 xmm9 ymm0 ymm1 ymm2 ymm3 ymm4 ymm5 ymm6 ymm7 zmm0 zmm1",
    ),
];

const ARM: &[Row] = &[
    (
        Keyword,
        Then::Any,
        "adc adcs add adds adr adrp and ands asr asrs b bal bcc bcs beq bfc bfi bge bgt bhi bhs bic bics bkpt bl ble bleq blo bls blt blne blr blx bmi bne bpl br bvc bvs bx bxeq cbnz cbz ccmp cinc clrex clz cmn cmp cneg cset csel csinc dmb dsb eon eor eors eret hint hlt hvc isb it ite itt \
      ldm ldmdb ldmea ldmfd ldmia ldp ldr ldrb ldrd ldreq ldrex ldrh ldrne ldrsb ldrsh ldrsw ldur ldxr lsl lsls lsr lsrs madd mla mls mneg mov moveq movk movn movne movs movt movw movz mrs msr msub mul muls mvn mvns neg negs nop orn orr orrs pld pop push qadd qsub rbit rev rev16 ret \
      ror rors rsb rsbs rsc sbc sbcs sbfx sdiv sev smc smlal smull ssat stm stmdb stmea stmfd stmia stp str strb strd streq strex strh strne stur stxr sub subeq subne subs svc swi swp sxtb sxth sxtw tbb tbh tbnz tbz teq tst ubfx udiv umlal umull usat uxtb uxth vabs vadd vcmp vcvt vdiv vldm vldr vmla vmov vmrs vmul vneg vpop vpush \
      vsqrt vstm vstr vsub wfe wfi yield fmov fadd fsub fmul fdiv scvtf fcvtzs",
    ),
    (
        Keyword,
        Then::Any,
        "align area arm code code16 code32 dcb dcd dcw else elif end endfunc endif endm endp entry equ export extern fill frame func function get global gbla gbll globl if import include incbin ldrltorg ltorg macro mend option proc readonly readwrite req require8 rn section space thumb word \
      .2byte .4byte .align .arch .arm .ascii .asciz .balign .bss .byte .code .cpu .data .else .end .endfunc .endif .endm .endr .equ .extern .fpu .func .global .globl .hword .if .include .int .irp .long .ltorg .macro .pool .quad .rept .section .set .short .size .skip .space .string .syntax .text .thumb .thumb_func .type .weak .word .xword",
    ),
    (
        Type,
        Then::Any,
        "apsr cpsr d0 d1 d2 d3 d4 d5 d6 d7 d8 fp ip lr pc r0 r1 r10 r11 r12 r13 r14 r15 r2 r3 r4 r5 r6 r7 r8 r9 s0 s1 s2 s3 s4 s5 s6 s7 sb sl sp spsr v0 v1 v2 v3 w0 w1 w10 w11 w12 w2 w29 w3 w30 w4 w5 w6 w7 w8 w9 wzr x0 x1 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19 x2 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 x3 x30 x4 x5 x6 x7 x8 x9 xzr",
    ),
];
