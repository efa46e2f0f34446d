# find_package(dst CONFIG) gives dst::dst, the static library, and dst::shared where the package has a shared one.
get_filename_component(_dst_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET dst::dst)
    add_library(dst::dst STATIC IMPORTED)
    set_target_properties(dst::dst PROPERTIES
        IMPORTED_LOCATION "${_dst_prefix}/lib/libdst.a"
        INTERFACE_INCLUDE_DIRECTORIES "${_dst_prefix}/include")
endif()
if(NOT TARGET dst::shared AND EXISTS "${_dst_prefix}/lib/libdst.so.@VERSION@")
    add_library(dst::shared SHARED IMPORTED)
    set_target_properties(dst::shared PROPERTIES
        IMPORTED_LOCATION "${_dst_prefix}/lib/libdst.so.@VERSION@"
        IMPORTED_SONAME "libdst.so.@COMPATIBLE@"
        INTERFACE_INCLUDE_DIRECTORIES "${_dst_prefix}/include")
endif()
unset(_dst_prefix)
