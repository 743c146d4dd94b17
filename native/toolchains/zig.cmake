# zig's compiler, for any platform: `npm run prebuild` (docs/prebuilds.md). ZIG is the program, ZIG_TARGET its name of the
# target (aarch64-linux-gnu.2.28), ZIG_SYSTEM and ZIG_PROCESSOR are CMake's.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG ZIG_TARGET ZIG_SYSTEM ZIG_PROCESSOR)
set(CMAKE_SYSTEM_NAME ${ZIG_SYSTEM})
set(CMAKE_SYSTEM_PROCESSOR ${ZIG_PROCESSOR})
set(CMAKE_CXX_COMPILER ${ZIG} c++ -target ${ZIG_TARGET})

# Stripped by the linker: a program that strips later would break the signature that arm64 macOS asks for.
string(APPEND CMAKE_SHARED_LINKER_FLAGS_INIT " -s")
if(ZIG_SYSTEM STREQUAL "Darwin")
  # Asked for by CMake, and used only to install.
  set(CMAKE_INSTALL_NAME_TOOL /bin/true)
  # The target says which macOS is the oldest.
  set(CMAKE_OSX_SYSROOT "")
  set(CMAKE_OSX_DEPLOYMENT_TARGET "")
endif()
