/* Stands in for a library of Windows that wine 8 lacks. Rust's standard library takes its chance from the one function in it. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID bytes, ULONG count);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
  while (count > 0) {
    ULONG part = count > 0x10000 ? 0x10000 : (ULONG)count;
    if (!SystemFunction036(bytes, part)) return FALSE;
    bytes += part;
    count -= part;
  }
  return TRUE;
}
