//! Languages with C-like brackets and comments.

use super::rules::{
    Anchor, C_COMMENT, CHAR, DOLLARS, DOUBLE, Interpolation, Key, PLAIN, REGEX, Region, Rules, SINGLE, SLASHES, TRIPLE,
    interpolation, key, quote, sigil,
};
use crate::category::Category::{Function, Keyword, String, Type, Variable};
use crate::lex::words::Then;

const NESTED: Region = C_COMMENT.nested();
const DOLLAR_DOUBLE: Region = DOUBLE.interpolations(DOLLARS);
const DOLLAR_TRIPLE: Region = TRIPLE.interpolations(DOLLARS);
const SWIFT_INTERPOLATION: &[Interpolation] = &[interpolation("\\(", b')')];

languages! {
    ACTIONSCRIPT "actionscript as" {
        words: &[
            (Keyword, Then::Type, "class extends implements interface new package"),
            (Keyword, Then::Function, "function"),
            (Keyword, Then::Any,
             "as break case catch const continue default delete do dynamic each else false final finally for get goto if import in include \
              instanceof internal is namespace native null override private protected public return set static super switch this throw true \
              try typeof undefined use var while with NaN"),
            (Type, Then::Any, "int uint void Array Boolean Number Object String Vector"),
        ],
        comments: &[SLASHES],
        regions: &[C_COMMENT, DOUBLE, SINGLE, REGEX],
        sigils: &[sigil("@", Variable)],
        capitalised: Type,
        shouted: Variable,
    }
    D "d dlang di" {
        words: &[
            (Keyword, Then::Type, "class enum interface struct template union mixin"),
            (Keyword, Then::Module, "import module"),
            (Keyword, Then::Any,
             "abstract alias align asm assert auto body break case cast catch const continue debug default delegate delete deprecated do else \
              export extern false final finally for foreach foreach_reverse function goto if immutable in inout invariant is lazy \
              macro new nothrow null out override package pragma private protected public pure ref return scope shared static super switch \
              synchronized this throw true try typedef typeid typeof unittest version volatile while with __FILE__ __FUNCTION__ __LINE__ \
              __MODULE__ __PRETTY_FUNCTION__ __gshared __thread __traits __DATE__ __EOF__ __TIME__ __TIMESTAMP__ __VENDOR__ __VERSION__"),
            (Type, Then::Any,
             "bool byte cdouble cfloat char creal dchar double dstring float function idouble ifloat int ireal long real short string ubyte uint \
              ulong ushort void wchar wstring size_t ptrdiff_t"),
        ],
        comments: &[SLASHES],
        regions: &[C_COMMENT, NESTED.begin("/+").end("+/"), DOUBLE.lines(), DOUBLE.lines().raw().begin("r\""), quote("`").lines().raw(), CHAR],
        sigils: &[sigil("@", Keyword)],
        capitalised: Type,
    }
    DART "dart" {
        words: &[
            (Keyword, Then::Type, "class enum extends implements mixin new on"),
            (Keyword, Then::Any,
             "abstract as assert async await base break case catch const continue covariant default deferred do else export extension external \
              factory false final finally for Function get hide if import in inferface interface is late library null operator part \
              required rethrow return sealed set show static super switch sync this throw true try typedef var when while with yield dynamic"),
            (Type, Then::Any, "void int double bool num String List Map Set Object"),
        ],
        comments: &[SLASHES],
        regions: &[
            NESTED,
            TRIPLE.raw().begin("r\"\"\""), TRIPLE.raw().begin("r'''").end("'''"),
            DOUBLE.raw().begin("r\""), SINGLE.raw().begin("r'"),
            DOLLAR_TRIPLE, DOLLAR_TRIPLE.begin("'''").end("'''"), DOLLAR_DOUBLE, SINGLE.interpolations(DOLLARS),
        ],
        sigils: &[sigil("@", Function)],
        capitalised: Type,
    }
    GLSL "glsl vert frag geom tesc tese comp fs.glsl vs.glsl" {
        words: &[
            (Keyword, Then::Type, "struct"),
            (Keyword, Then::Any,
             "attribute binding break buffer case ccw centroid coherent const continue default depth_any depth_greater depth_less do else \
              equal_spacing false flat for fractional_even_spacing highp if in index inout invariant invocations layout line_strip lines local_size_x local_size_y \
              local_size_z location lowp max_vertices mediump noperspective offset origin_upper_left out packed patch \
              pixel_center_integer points precise precision quads readonly return sample shared smooth std140 std430 subroutine \
              switch triangles true uniform varying volatile while writeonly discard"),
            (Type, Then::Any,
             "bool bvec2 bvec3 bvec4 dmat2 dmat3 dmat4 double dvec2 dvec3 dvec4 float int ivec2 ivec3 ivec4 mat2 mat2x2 mat2x3 mat2x4 \
              mat3 mat3x2 mat3x3 mat3x4 mat4 mat4x2 mat4x3 mat4x4 sampler1D sampler2D sampler2DShadow sampler3D samplerCube \
              isampler2D usampler2D image2D uint uvec2 uvec3 uvec4 vec2 vec3 vec4 void"),
        ],
        comments: &[SLASHES],
        regions: &[C_COMMENT, DOUBLE],
        preprocessor: true,
        open_numbers: true,
    }
    GROOVY "groovy gradle gvy gy gsh jenkinsfile" {
        words: &[
            (Keyword, Then::Type, "class enum extends implements interface new trait instanceof"),
            (Keyword, Then::Module, "package"),
            (Keyword, Then::Any,
             "abstract as assert break case catch const continue def default do else false final finally for goto if import in native null \
              private protected public return static strictfp super switch synchronized this threadsafe throw throws transient true try var volatile while \
              yield record sealed permits non-sealed"),
            (Type, Then::Any, "boolean byte char double float int long short void"),
        ],
        comments: &[SLASHES, ("#!", Anchor::Column0)],
        regions: &[C_COMMENT, DOLLAR_TRIPLE, TRIPLE.begin("'''").end("'''"), DOLLAR_DOUBLE, SINGLE, REGEX],
        sigils: &[sigil("@", Function)],
        capitalised: Type,
    }
    KOTLIN "kotlin kt kts" {
        words: &[
            (Keyword, Then::Type, "class interface object typealias"),
            (Keyword, Then::Function, "fun"),
            (Keyword, Then::Module, "package"),
            (Keyword, Then::Any,
             "abstract actual annotation as break by catch companion const constructor continue crossinline data default delegate do dynamic else enum expect \
              external false field file final finally for get if import in infix init inline inner internal is it lateinit noinline null open \
              operator out override param private property protected public receiver reified return sealed set setparam super suspend tailrec this throw \
              true try typeof val value var vararg volatile when where while"),
            (Type, Then::Any, "Any Boolean Byte Char Double Float Int Long Nothing Short String Unit"),
        ],
        comments: &[SLASHES],
        regions: &[NESTED, DOLLAR_TRIPLE.raw(), DOLLAR_DOUBLE, CHAR, quote("`").raw().within(120).is(Variable)],
        sigils: &[sigil("@", Function)],
        capitalised: Type,
    }
    OBJC "objc objectivec objective-c obj-c" from OBJECTIVE {}
    OBJCPP "objcpp objective-c++ objectivecpp mm" from OBJECTIVE {}
    PROTOBUF "protobuf proto" {
        words: &[
            (Keyword, Then::Type, "enum message service extend"),
            (Keyword, Then::Function, "rpc"),
            (Keyword, Then::Any,
             "extensions false group import map max oneof option optional package public repeated required reserved returns stream syntax edition to true weak"),
            (Type, Then::Any,
             "bool bytes double fixed32 fixed64 float int32 int64 sfixed32 sfixed64 sint32 sint64 string uint32 uint64"),
        ],
        words_after_dot: false,
        comments: &[SLASHES],
        regions: &[C_COMMENT, DOUBLE, SINGLE],
        capitalised: Type,
        shouted: Variable,
        signed: true,
    }
    QML "qml qmltypes" {
        words: &[
            (Keyword, Then::Function, "function"),
            (Keyword, Then::Any,
             "alias as async await break case catch const continue debugger default delete do else enum export false finally for if import in \
              instanceof let new null of on pragma property readonly required return signal super switch this throw true try typeof undefined var void while \
              with yield"),
            (Type, Then::Any, "bool color date double int list real string url variant"),
        ],
        keys: &[Key { spaced: false, ..key(":", Variable) }],
        letters: "$",
        begins: "$",
        comments: &[SLASHES],
        regions: &[C_COMMENT, DOUBLE, SINGLE, quote("`").lines().interpolations(DOLLARS), REGEX],
        capitalised: Type,
    }
    SCALA "scala sc sbt" {
        words: &[
            (Keyword, Then::Type, "class enum extends new object trait type"),
            (Keyword, Then::Function, "def"),
            (Keyword, Then::Module, "package"),
            (Keyword, Then::Any,
             "abstract as case catch derives do else end export extension false final finally for forSome given if implicit import inline \
              lazy match null opaque open override private protected return sealed super then this throw transparent true try using val var while \
              with yield"),
            (Type, Then::Any, "Any AnyRef AnyVal Boolean Byte Char Double Float Int Long Nothing Short String Unit"),
        ],
        comments: &[SLASHES],
        regions: &[
            NESTED,
            DOLLAR_TRIPLE.raw().begin("s\"\"\""), DOLLAR_TRIPLE.raw().begin("f\"\"\""), DOLLAR_TRIPLE.raw().begin("raw\"\"\""),
            DOLLAR_DOUBLE.begin("s\""), DOLLAR_DOUBLE.begin("f\""), DOLLAR_DOUBLE.begin("raw\""),
            TRIPLE.raw(), DOUBLE, CHAR, quote("`").raw().within(120).is(Variable),
        ],
        sigils: &[sigil("@", Function), sigil("'", String)],
        capitalised: Type,
    }
    SOLIDITY "solidity sol" {
        words: &[
            (Keyword, Then::Type, "contract enum error event interface is library new struct using"),
            (Keyword, Then::Function, "function modifier"),
            (Keyword, Then::Any,
             "abstract anonymous as assembly break calldata catch constant constructor continue delete do else emit external fallback false for if \
              immutable import indexed internal let mapping memory override payable pragma private public pure receive return returns \
              solidity storage switch throw true try type unchecked unicode view virtual while leave case default revert require assert"),
            (Type, Then::Any, "address bool byte bytes bytes1 bytes4 bytes8 bytes16 bytes20 bytes32 fixed int int8 int16 int32 int64 int128 int256 string \
              ufixed uint uint8 uint16 uint32 uint64 uint96 uint112 uint128 uint160 uint256 var"),
            (Variable, Then::Any, "block msg now this super tx"),
        ],
        comments: &[SLASHES],
        regions: &[C_COMMENT, DOUBLE, SINGLE],
        capitalised: Type,
        shouted: Variable,
    }
    SWIFT "swift" {
        words: &[
            (Keyword, Then::Type, "actor associatedtype class enum extension precedencegroup protocol struct typealias"),
            (Keyword, Then::Function, "func macro"),
            (Keyword, Then::Any,
             "any as async await borrowing break case catch consume consuming continue convenience copy default defer deinit didSet distributed do dynamic each else \
              fallthrough false fileprivate final for get guard if import in indirect infix init inout internal is isolated lazy let mutating nil nonisolated \
              nonmutating open operator optional override package postfix prefix private public repeat required rethrows return self set \
              some static subscript super switch throw throws true try unowned var weak where while willSet"),
            (Keyword, Then::Any, "Any Self"),
            (Type, Then::Any, "Array Bool Character Dictionary Double Float Int Optional Set String Void"),
        ],
        comments: &[SLASHES],
        regions: &[
            NESTED,
            TRIPLE.begin("#").end("\"\"\"#").level(b'#', "\"\"\"", ""), DOUBLE.begin("#").end("\"#").level(b'#', "\"", ""),
            TRIPLE.interpolations(SWIFT_INTERPOLATION), DOUBLE.interpolations(SWIFT_INTERPOLATION), quote("`").raw().within(80).is(Variable),
        ],
        sigils: &[sigil("@", Keyword), sigil("#", Keyword), sigil("$", Variable)],
        capitalised: Type,
    }
    WGSL "wgsl" {
        words: &[
            (Keyword, Then::Type, "alias struct"),
            (Keyword, Then::Function, "fn"),
            (Keyword, Then::Any,
             "break case const const_assert continue continuing default diagnostic discard else enable false for if let loop override requires \
              return switch true var while"),
            (Type, Then::Any,
             "array atomic bool f16 f32 i32 mat2x2 mat3x3 mat4x4 mat2x2f mat3x3f mat4x4f ptr sampler texture_2d texture_3d texture_cube u32 vec2 vec3 vec4 \
              vec2f vec3f vec4f vec2i vec3i vec4i vec2u vec3u vec4u"),
        ],
        comments: &[SLASHES],
        regions: &[NESTED, DOUBLE],
        sigils: &[sigil("@", Function)],
        capitalised: Type,
        open_numbers: true,
    }
    ZIG "zig zon" {
        words: &[
            (Keyword, Then::Function, "fn"),
            (Keyword, Then::Any,
             "addrspace align allowzero and anyframe asm async await break callconv catch comptime const continue defer else enum errdefer \
              error export extern false for if inline linksection noalias noinline nosuspend null opaque or orelse packed pub resume return \
              struct suspend switch test threadlocal true try undefined union unreachable usingnamespace var volatile while"),
            (Type, Then::Any,
             "anyerror anyopaque anytype bool c_int c_long c_uint c_ulong c_void comptime_float comptime_int f16 f32 f64 f80 f128 i8 i16 i32 i64 \
              i128 isize noreturn type u1 u8 u16 u32 u64 u128 usize void"),
        ],
        comments: &[SLASHES],
        regions: &[quote("\n").begin("\\\\").raw(), DOUBLE.begin("@\"").is(Variable), DOUBLE, CHAR],
        sigils: &[sigil("@", Function)],
        capitalised: Type,
    }
}

const OBJECTIVE: Rules = Rules {
    words: &[
        (Keyword, Then::Type, "@class @interface @implementation @protocol struct union enum"),
        (
            Keyword,
            Then::Any,
            "@autoreleasepool @available @catch @compatibility_alias @defs @dynamic @encode @end @finally @import @optional @package @private @property @protected \
          @public @required @selector @synchronized @synthesize @throw @try @YES @NO",
        ),
        (
            Keyword,
            Then::Any,
            "IBAction IBInspectable IBOutlet __autoreleasing __block __bridge __kindof __nonnull __nullable __strong __typeof __unsafe_unretained __weak assign atomic \
          auto break bycopy byref case catch class const continue copy default delete do else explicit export extern false for friend getter goto if import in inline \
          inout instancetype mutable namespace new nil Nil NO nonatomic nonnull NULL null_resettable null_unspecified nullable oneway operator out private protected public readonly \
          readwrite register retain return self setter sizeof static strong super switch template this throw true try typedef typeid typename \
          typeof unsafe_unretained using virtual volatile weak while YES",
        ),
        (
            Type,
            Then::Any,
            "BOOL Class IMP NSInteger NSUInteger SEL bool char double float id int int16_t int32_t int64_t int8_t long short signed size_t uint16_t \
          uint32_t uint64_t uint8_t unichar unsigned void wchar_t CGFloat",
        ),
    ],
    begins: "@",
    comments: &[SLASHES],
    regions: &[C_COMMENT, DOUBLE.begin("@\""), DOUBLE, SINGLE],
    preprocessor: true,
    capitalised: Type,
    open_numbers: true,
    ..PLAIN
};
