#include "trainer_image/record/jpeg_errors.h"

#include "common/base/error.h"
#include "common/base/macros.h"

/* Of a file that may have an end that is cut off, those after which pixels are wrong are errors. Of one that has to
 * be whole, all are but those that harm nobody: bytes between segments, an odd version of JFIF. */
static const int jpeg_wrong_pixels[] = {JWRN_HIT_MARKER, JWRN_HUFF_BAD_CODE, JWRN_MUST_RESYNC};
static const int jpeg_harmless[] = {JWRN_EXTRANEOUS_DATA, JWRN_ADOBE_XFORM, JWRN_JFIF_MAJOR,
				    JWRN_TOO_MUCH_DATA};

static bool jpeg_listed(const int numbers[], size_t count, int number)
{
	for (size_t i = 0; i < count; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* Numbers of the library's errors and what they are here; all others are E_MALFORMED. */
static const struct {
	int number;
	int code;
} jpeg_codes[] = {
	{JERR_OUT_OF_MEMORY, E_LIMIT},
	{JERR_NO_BACKING_STORE, E_LIMIT},
	{JERR_WIDTH_OVERFLOW, E_LIMIT},
	{JERR_IMAGE_TOO_BIG, E_LIMIT},
	{JERR_SOF_UNSUPPORTED, E_UNSUPPORTED},
	{JERR_BAD_PRECISION, E_UNSUPPORTED},
	{JERR_CONVERSION_NOTIMPL, E_UNSUPPORTED},
	{JERR_CCIR601_NOTIMPL, E_UNSUPPORTED},
	{JERR_FRACT_SAMPLE_NOTIMPL, E_UNSUPPORTED},
};

/* The library calls it in the place of exit(). */
static __attribute__((noreturn)) void jpeg_fail(j_common_ptr library)
{
	struct jpeg_errors *errors = library->client_data;
	char text[JMSG_LENGTH_MAX];
	int code = E_MALFORMED;

	for (size_t i = 0; i < COUNT_OF(jpeg_codes); i++) {
		if (jpeg_codes[i].number == library->err->msg_code)
			code = jpeg_codes[i].code;
	}
	library->err->format_message(library, text);
	(void)problem_set(errors->problem, code, "JPEG: %s", text);
	longjmp(errors->jump, 1);
}

static void jpeg_tell(j_common_ptr library, int level)
{
	struct jpeg_errors *errors = library->client_data;

	if (level >= 0)
		return; /* a trace */
	errors->warnings++;
	int number = library->err->msg_code;
	if (errors->whole ? !jpeg_listed(jpeg_harmless, COUNT_OF(jpeg_harmless), number)
			  : jpeg_listed(jpeg_wrong_pixels, COUNT_OF(jpeg_wrong_pixels), number))
		jpeg_fail(library);
}

static void jpeg_print_nothing(j_common_ptr library)
{
	(void)library;
}

struct jpeg_error_mgr *jpeg_errors_init(struct jpeg_errors *errors)
{
	struct jpeg_error_mgr *library = jpeg_std_error(&errors->library);

	library->error_exit = jpeg_fail;
	library->emit_message = jpeg_tell;
	library->output_message = jpeg_print_nothing;
	return library;
}
