//! Command languages: shells, build files and installers.

use super::rules::{
    Anchor, C_COMMENT, Calls, DOLLAR, DOLLARS, DOUBLE, HASH, Interpolation, Key, PLAIN, Region, Rules, SEMICOLON,
    SINGLE, Sigil, block, interpolation, key, quote, sigil, whole_line,
};
use crate::category::Category::{Comment, Function, Keyword, Operator, String, Type, Variable};
use crate::lex::words::Then;

const HASH_AFTER_BLANK: (&str, Anchor) = ("#", Anchor::AfterBlank);
const HASH_FIRST: (&str, Anchor) = ("#", Anchor::LineStart);
const VARIABLE: Sigil = Sigil { braces: "{(", specials: "?!#@*$0123456789<^+%-", ..sigil("$", Variable) };
const MAKE_INTERPOLATIONS: &[Interpolation] = &[interpolation("$(", b')'), interpolation("$", 0)];

languages! {
    BATCH "batch bat cmd dos" {
        words: &[
            (Comment, Then::Any, "rem"),
            (Keyword, Then::Any,
             "aux call cd choice cls con copy defined del dir do echo else endlocal enabledelayedexpansion equ errorlevel exist exit for geq goto gtr if in leq lss mkdir move neq not nul off on pause popd pushd ren rd rmdir \
              set setlocal shift start title type ver xcopy prn nul lpt1 com1"),
            (Function, Then::Any, "attrib certutil find findstr ipconfig msiexec net ping powershell reg robocopy sc schtasks shutdown tasklist taskkill timeout where wmic assoc ftype color date time path prompt"),
        ],
        fold: true,
        lines: &[whole_line("::", Comment), whole_line("@rem ", Comment), whole_line("@REM ", Comment), whole_line(":", Function)],
        regions: &[DOUBLE.raw(), quote("%").raw().within(64).is(Variable), quote("!").raw().within(64).is(Variable)],
        sigils: &[sigil("%%", Variable), sigil("%~", Variable), Sigil { specials: "*0123456789", ..sigil("%", Variable) }],
        calls: Calls::None,
        statement_ends: "&|()",
        operators: "+-*/=<>|&@^!",
        punctuation: "()[]{},;:.",
    }
    CMAKE "cmake cmakelists cmakelists.txt" {
        words: &[
            (Keyword, Then::Function, "function macro"),
            (Keyword, Then::Any,
             "add_compile_definitions add_compile_options add_custom_command add_custom_target add_definitions add_dependencies add_executable add_library \
              add_link_options add_subdirectory add_test aux_source_directory break build_command cmake_host_system_information cmake_language cmake_minimum_required cmake_parse_arguments cmake_path cmake_policy \
              configure_file continue create_test_sourcelist ctest_build define_property else elseif enable_language enable_testing endforeach endfunction endif endmacro \
              endwhile block endblock execute_process export file find_file find_library find_package find_path find_program fltk_wrap_ui foreach get_cmake_property get_directory_property \
              get_filename_component get_property get_source_file_property get_target_property get_test_property if in_list include include_directories include_external_msproject include_guard install \
              link_directories link_libraries list load_cache load_command make_directory mark_as_advanced math message option project qt_wrap_cpp qt_wrap_ui remove_definitions return \
              separate_arguments set set_directory_properties set_property set_source_files_properties set_target_properties set_tests_properties \
              site_name source_group string target_compile_definitions target_compile_features target_compile_options target_include_directories target_link_directories \
              target_link_libraries target_link_options target_precompile_headers target_sources try_compile try_run unset variable_watch while write_file \
              and not or command policy target test defined exists is_newer_than is_directory is_symlink is_absolute matches less greater equal less_equal greater_equal strless strgreater strequal strless_equal \
              strgreater_equal version_less version_greater version_equal version_less_equal version_greater_equal on off true false"),
        ],
        fold: true,
        comments: &[HASH],
        regions: &[block("#[", "]").level(b'=', "[", "]"), block("[", "]").is(String).level(b'=', "[", "]"), DOUBLE.lines()],
        sigils: &[DOLLAR, sigil("$ENV", Variable)],
        letters: "",
        shouted: Variable,
        operators: "+*%=!&|^~<>?",
    }
    DOCKERFILE "dockerfile docker containerfile" {
        words: &[
            (Keyword, Then::Any, "add arg as cmd copy entrypoint env expose from healthcheck label maintainer onbuild run shell stopsignal user volume workdir"),
        ],
        fold: true,
        words_at_start: true,
        comments: &[HASH_FIRST],
        regions: &[DOUBLE.lines(), SINGLE.raw()],
        heredocs: &["<<-", "<<"],
        sigils: &[VARIABLE, Sigil { place: Anchor::AfterBlank, ..sigil("--", Variable) }],
        letters: "-",
        calls: Calls::None,
        statement_ends: "",
    }
    FISH "fish" {
        words: &[
            (Keyword, Then::Function, "function"),
            (Keyword, Then::Any, "and begin break builtin case command continue else end exec for if in not or return switch while time set true false"),
            (Function, Then::Any,
             "abbr alias argparse bind cd commandline complete contains count disown echo emit eval exit fish_add_path functions history jobs math printf pwd random read set_color source status string test trap type ulimit wait"),
        ],
        comments: &[HASH_AFTER_BLANK],
        regions: &[DOUBLE.lines().interpolations(&[interpolation("$", 0)]), SINGLE.lines()],
        sigils: &[VARIABLE, Sigil { place: Anchor::AfterBlank, ..sigil("--", Variable) }, Sigil { place: Anchor::AfterBlank, ..sigil("-", Variable) }],
        letters: "-",
        calls: Calls::Command,
        statement_ends: ";|(&",
    }
    MAKEFILE "makefile make mk mak gnumake gnumakefile" {
        words: &[
            (Keyword, Then::Any,
             ".DEFAULT .DELETE_ON_ERROR .EXPORT_ALL_VARIABLES .INTERMEDIATE .NOTPARALLEL .ONESHELL .PHONY .PRECIOUS .SECONDARY .SILENT .SUFFIXES define else endef endif export ifdef ifeq ifndef ifneq include -include override private sinclude undefine unexport vpath"),
        ],
        words_at_start: true,
        comments: &[HASH],
        regions: &[DOUBLE.interpolations(MAKE_INTERPOLATIONS), SINGLE.at(Anchor::NotAfterValue).interpolations(MAKE_INTERPOLATIONS)],
        sigils: &[VARIABLE],
        keys: &[key("=", Variable), key(":=", Variable), key("::=", Variable), key("?=", Variable), key("+=", Variable), key("!=", Variable), key(":", Function)],
        begins: ".-",
        letters: ".-/%",
        calls: Calls::None,
        statement_ends: "",
        operators: "+*%=!&|^~<>?@:",
        punctuation: "()[]{},;",
    }
    NSIS "nsis nsi nsh" {
        words: &[
            (Keyword, Then::Any,
             "Abort AddBrandingImage AllowRootDirInstall AutoCloseWindow BGFont BGGradient BrandingText BringToFront Call CallInstDLL Caption ChangeUI CheckBitmap ClearErrors CompletedText \
              ComponentText CopyFiles CRCCheck CreateDirectory CreateFont CreateShortCut Delete DeleteINISec DeleteINIStr DeleteRegKey DeleteRegValue DetailPrint DetailsButtonText DirText EnumRegKey EnumRegValue Exch \
              Exec ExecShell ExecWait ExpandEnvStrings File FileBufSize FileClose FileErrorText FileOpen FileRead FileSeek FileWrite FindClose FindFirst FindNext FindWindow FlushINI Function FunctionEnd GetCurInstType \
              GetDlgItem GetDLLVersion GetErrorLevel GetFileTime GetFullPathName GetTempFileName Goto HideWindow Icon IfAbort IfErrors IfFileExists IfRebootFlag IfSilent InitPluginsDir InstallButtonText \
              InstallColors InstallDir InstallDirRegKey InstProgressFlags InstType IntCmp IntFmt IntOp IsWindow LangString LicenseData LicenseText LoadLanguageFile ManifestSupportedOS MessageBox MiscButtonText Name Nop \
              OutFile Page PageEx PageExEnd Pop Push Quit ReadEnvStr ReadINIStr ReadRegDWORD ReadRegStr Reboot RegDLL Rename RequestExecutionLevel ReserveFile Return RMDir SearchPath Section SectionEnd SectionGroup \
              SectionGroupEnd SectionIn SendMessage SetAutoClose SetBrandingImage SetCompress SetCompressor SetCtlColors SetDetailsPrint SetDetailsView SetErrors SetFileAttributes SetFont SetOutPath SetOverwrite \
              SetRegView SetShellVarContext SetSilent ShowInstDetails ShowUninstDetails ShowWindow SilentInstall Sleep SpaceTexts StrCmp StrCpy StrLen SubCaption Unicode UninstallCaption UninstallIcon UninstallText \
              UnRegDLL Var VIAddVersionKey VIProductVersion WindowIcon WriteINIStr WriteRegBin WriteRegDWORD WriteRegStr WriteUninstaller"),
        ],
        comments: &[HASH, SEMICOLON],
        regions: &[C_COMMENT, NSIS_QUOTE, NSIS_QUOTE.begin("'").end("'"), NSIS_QUOTE.begin("`").end("`")],
        sigils: &[sigil("!", Keyword), DOLLAR, sigil("/", Variable)],
        letters: ".",
        calls: Calls::None,
        shouted: Variable,
    }
    POWERSHELL "powershell ps ps1 psm1 psd1 pwsh" {
        words: &[
            (Keyword, Then::Type, "class enum"),
            (Keyword, Then::Function, "function filter"),
            (Keyword, Then::Any,
             "begin break catch command configuration continue data default do dynamicparam else elseif end exit finally for foreach from hidden if in inlinescript parallel param process return \
              module namespace sequence static switch throw trap try until using validate validateset while workflow"),
        ],
        fold: true,
        letters: "-",
        comments: &[HASH],
        regions: &[
            block("<#", "#>"), quote("@\"").end("\"@").raw().lines().interpolations(&[interpolation("$(", b')'), interpolation("${", b'}'), interpolation("$", 0)]), quote("@'").end("'@").raw().lines(),
            Region { escape: b'`', ..DOUBLE }.lines().interpolations(&[interpolation("$(", b')'), interpolation("${", b'}'), interpolation("$", 0)]), SINGLE.lines().doubled(),
            quote("[").end("]").raw().within(60).is(Type).at(Anchor::NotAfterValue),
        ],
        sigils: &[Sigil { specials: "?_$^", ..DOLLAR }, sigil("@", Variable), Sigil { place: Anchor::AfterBlank, ..sigil("-", Operator) }],
        calls: Calls::Command,
        statement_ends: ";{|(=",
        operators: "+-*/%=!&|^~<>?`",
    }
    PUPPET "puppet pp" {
        words: &[
            (Keyword, Then::Type, "class define node inherits"),
            (Keyword, Then::Any,
             "and augeas case cron default else elsif exec false file group host if import interface mount notify package schedule service user yumrepo in include or realize require contain true undef unless application attr function type notice tag create_resources"),
            (Function, Then::Any, "template epp lookup hiera"),
        ],
        comments: &[HASH],
        regions: &[C_COMMENT, DOUBLE.lines().interpolations(DOLLARS), SINGLE.lines(), super::rules::REGEX],
        sigils: &[DOLLAR, Sigil { place: Anchor::NotAfterValue, ..sigil("@", Variable) }],
        keys: &[Key { first: true, ..key("=>", Variable) }],
        letters: "",
        capitalised: Type,
    }
    TCL "tcl tk itcl expect exp" {
        words: &[
            (Keyword, Then::Function, "proc method"),
            (Keyword, Then::Any,
             "after append apply array auto_execok auto_import auto_load auto_mkindex auto_qualify auto_reset bgerror binary break catch cd chan clock close concat continue dict else elseif encoding eof error \
              eval exec exit expr fblocked fconfigure fcopy file fileevent filename flush for foreach format gets glob global history http if incr info interp join lappend lassign lindex linsert list llength \
              load lrange lrepeat lreplace lreverse lsearch lset lsort mathfunc mathop memory msgcat namespace open package parray pid pkg_mkIndex platform puts pwd \
              read refchan regexp registry regsub rename return safe scan seek set socket source split string subst switch tailcall tcltest tell then throw time tm trace try unknown unload \
              unset update uplevel upvar variable vwait while yield"),
        ],
        comments: &[("#", Anchor::LineStart), ("#", Anchor::Statement)],
        regions: &[DOUBLE.lines().interpolations(&[interpolation("${", b'}'), interpolation("$", 0)])],
        sigils: &[DOLLAR, sigil("-", Variable)],
        letters: ":",
        calls: Calls::Command,
        statement_ends: ";{[",
    }
}

/// Strings of NSIS: `$\"` is an escaped quote.
const NSIS_QUOTE: Region = Region { escape: b'\\', ..quote("\"") }.interpolations(&[]);
